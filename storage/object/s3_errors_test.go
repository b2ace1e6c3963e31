package object

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/fakes3"
)

// Each way in which a store cannot be opened names the bucket, the cause and the cure.
func TestS3OpenErrors(t *testing.T) {
	cases := []struct {
		name  string
		fault fakes3.Fault
		want  []string
	}{
		{"no bucket", fakes3.Fault{Status: 404, Code: "NoSuchBucket"}, []string{`there is no bucket "loam-test" at http://`, "Make the bucket"}},
		{"denied", fakes3.Fault{Status: 403, Code: "AccessDenied"}, []string{"access is denied", "s3:ListBucket on bucket \"loam-test\""}},
		{"skew", fakes3.Fault{Status: 403, Code: "RequestTimeTooSkewed"}, []string{"clock differs", "NTP"}},
		{"expired", fakes3.Fault{Status: 400, Code: "ExpiredToken"}, []string{"session token has expired", "new credentials"}},
		{"key", fakes3.Fault{Status: 403, Code: "InvalidAccessKeyId"}, []string{"does not know the access key", "AWS_ACCESS_KEY_ID"}},
		{"secret", fakes3.Fault{Status: 403, Code: "SignatureDoesNotMatch"}, []string{"signature is wrong", "AWS_SECRET_ACCESS_KEY"}},
		{"region", fakes3.Fault{Status: 301, Code: "PermanentRedirect", Header: http.Header{"X-Amz-Bucket-Region": {"eu-west-3"}}},
			[]string{`bucket "loam-test" is in region eu-west-3, not us-east-1`, "Set AWS_REGION=eu-west-3"}},
		{"region in a 400", fakes3.Fault{Status: 400, Code: "AuthorizationHeaderMalformed", Header: http.Header{"X-Amz-Bucket-Region": {"eu-west-3"}}},
			[]string{"is in region eu-west-3"}},
		{"page", fakes3.Fault{Kind: fakes3.Page}, []string{"is not S3's", "not of a console"}},
		{"page with 404", fakes3.Fault{Kind: fakes3.Page, Status: 404}, []string{"is not S3's (status 404)", "S3 API"}},
		{"overload", fakes3.Fault{Status: 503, Code: "SlowDown"}, []string{"overloaded", "later"}},
		{"broken", fakes3.Fault{Status: 500, Code: "InternalError"}, []string{"answered with status 500 InternalError"}},
		{"other", fakes3.Fault{Status: 400, Code: "InvalidRequest"}, []string{"refused it: InvalidRequest, fake InvalidRequest"}},
		{"feature", fakes3.Fault{Status: 501, Code: "NotImplemented"}, []string{"cannot do this", "loam doctor store"}},
		{"reset", fakes3.Fault{Kind: fakes3.ResetBefore}, []string{"cannot be reached", "whether the store runs"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, server := openFake(t, quick)
			server.Add(c.fault)
			opt := quick
			opt.Endpoint = server.URL
			_, err := OpenS3(ctx, "s3://"+fakes3.Bucket+"/p", clock.Real(), testIDs(1), opt)
			checkS3Error(t, err, append(c.want, "s3://loam-test/p"))
		})
	}
}

func checkS3Error(t *testing.T, err error, want []string) {
	t.Helper()
	if !fail.Is(err, fail.Unavailable) || fail.As(err).Hint == "" {
		t.Fatalf("%s without a cure: %v", fail.CodeOf(err), err)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q is not in: %v", w, err)
		}
	}
}

func TestS3Unreachable(t *testing.T) {
	awsEnv(t)
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = lis.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	for endpoint, want := range map[string]string{
		"http://" + lis.Addr().String():                       "cannot be reached: dial tcp",
		"https://" + strings.TrimPrefix(plain.URL, "http://"): "speaks HTTP, not HTTPS",
	} {
		opt := quick
		opt.Endpoint = endpoint
		_, err := OpenS3(ctx, "s3://b", clock.Real(), testIDs(1), opt)
		checkS3Error(t, err, []string{want, "s3://b/"})
	}
}

func TestS3Addresses(t *testing.T) {
	for address, want := range map[string]string{
		"s3://b": "b|", "s3://b/": "b|", "s3://b/p": "b|p", "s3://b/p/q/": "b|p/q",
		"": "", "b/p": "", "s3://": "", "s3:///p": "", "http://b/p": "", "s3://b/../x": "", "s3://b/a//b": "", "s3://b?x=1": "", "s3://user@b": "",
	} {
		bucket, prefix, err := ParseS3(address)
		switch {
		case want == "" && !fail.Is(err, fail.InvalidParameter):
			t.Errorf("%q: %q %q %v", address, bucket, prefix, err)
		case want != "" && (err != nil || bucket+"|"+prefix != want):
			t.Errorf("%q: %q %q %v", address, bucket, prefix, err)
		}
	}
}

func TestS3Configuration(t *testing.T) {
	awsEnv(t)
	open := func(opt S3Options) error {
		_, err := newS3(ctx, "s3://b/p", clock.Real(), testIDs(1), opt)
		return err
	}
	for want, opt := range map[string]S3Options{
		"no region for s3://b": {}, `"sideways" is no way`: {Addressing: "sideways"},
		`endpoint "localhost:7070" is no URL`: {Endpoint: "localhost:7070"}, `endpoint "ftp://x" is no URL`: {Endpoint: "ftp://x"},
	} {
		if err := open(opt); !fail.Is(err, fail.InvalidParameter) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	t.Setenv("AWS_REGION", "eu-west-3")
	if s, err := newS3(ctx, "s3://b/p", clock.Real(), testIDs(1), S3Options{}); err != nil {
		t.Error(err)
	} else if o := s.client.Options(); o.Region != "eu-west-3" || o.UsePathStyle || s.where != "AWS S3" {
		t.Errorf("region %s, path %v, %s", o.Region, o.UsePathStyle, s.where)
	}
	t.Setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1")
	if s, err := newS3(ctx, "s3://b/p", clock.Real(), testIDs(1), S3Options{}); err != nil {
		t.Error(err)
	} else if o := s.client.Options(); !o.UsePathStyle || s.where != "http://127.0.0.1:1" {
		t.Errorf("path %v, %s", o.UsePathStyle, s.where)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	if err := open(S3Options{}); !fail.Is(err, fail.Unavailable) || !strings.Contains(err.Error(), "no credentials for s3://b") {
		t.Error(err)
	}
}

// The pauses double, obey the server, and are bounded.
func TestS3Pauses(t *testing.T) {
	clk := clock.NewManual(time.Unix(0, 0))
	s := &S3{clk: clk, ids: testIDs(3), opt: S3Options{Backoff: 100 * time.Millisecond}}
	for n, want := range map[int][2]time.Duration{1: {50, 100}, 3: {200, 400}, 20: {2500, 5000}} {
		done := make(chan error, 1)
		go func() { done <- s.pause(ctx, n, verdict{}) }()
		for clk.Waiting() == 0 {
			time.Sleep(100 * time.Microsecond)
		}
		clk.Advance(want[0]*time.Millisecond - 1)
		select {
		case <-done:
			t.Errorf("pause %d is shorter than %d ms", n, want[0])
		default:
		}
		clk.Advance((want[1]-want[0])*time.Millisecond + 1)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
