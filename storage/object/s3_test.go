package object

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/fakes3"
)

// awsEnv keeps the machine's own AWS settings out of a test.
func awsEnv(t *testing.T) {
	t.Helper()
	none := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": "loam", "AWS_SECRET_ACCESS_KEY": "loamsecret", "AWS_SESSION_TOKEN": "",
		"AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_PROFILE": "", "AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_S3": "",
		"AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none, "AWS_EC2_METADATA_DISABLED": "true"} {
		t.Setenv(name, value)
	}
}

// quick makes faults cost milliseconds.
var quick = S3Options{Backoff: time.Millisecond, Patience: 250 * time.Millisecond, PartBytes: 64 << 10}

func openFake(t *testing.T, opt S3Options) (*S3, *fakes3.Server) {
	t.Helper()
	awsEnv(t)
	server := fakes3.Start()
	t.Cleanup(server.Close)
	opt.Endpoint = server.URL
	s, err := OpenS3(ctx, "s3://"+fakes3.Bucket+"/some/prefix/", clock.Real(), testIDs(7), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	server.Heal()
	return s, server
}

// A reply that is lost, late or an error never turns into a wrong answer.
func TestS3PutFaults(t *testing.T) {
	const other, own = "another's", "own"
	cases := []struct {
		name   string
		faults []fakes3.Fault
		before string // what is stored already
		want   error  // sentinel; nil: success
		there  string // afterwards
		puts   int    // PUT requests
	}{
		{"no fault", nil, "", nil, own, 1},
		{"taken", nil, other, ErrExists, other, 1},
		{"500 once", []fakes3.Fault{{Method: "PUT", Status: 500, Code: "InternalError", N: 1}}, "", nil, own, 2},
		{"503 twice", []fakes3.Fault{{Method: "PUT", Status: 503, Code: "SlowDown", N: 2}}, "", nil, own, 3},
		{"500 after the commit", []fakes3.Fault{{Method: "PUT", Kind: fakes3.StatusAfter, Status: 500, Code: "InternalError", N: 1}}, "", nil, own, 2},
		{"reset before", []fakes3.Fault{{Method: "PUT", Kind: fakes3.ResetBefore, N: 1}}, "", nil, own, 2},
		{"reset after the commit", []fakes3.Fault{{Method: "PUT", Kind: fakes3.ResetAfter, N: 1}}, "", nil, own, 2},
		{"reset, and another has it", []fakes3.Fault{{Method: "PUT", Kind: fakes3.ResetAfter, N: 1}}, other, ErrExists, other, 2},
		{"slow", []fakes3.Fault{{Method: "PUT", Kind: fakes3.Slow, Delay: time.Minute, N: 1}}, "", nil, own, 2},
		{"409 once", []fakes3.Fault{{Method: "PUT", Status: 409, Code: "ConditionalRequestConflict", N: 1}}, "", nil, own, 2},
		{"409 always", []fakes3.Fault{{Method: "PUT", Status: 409, Code: "ConditionalRequestConflict"}}, "", ErrUnknown, "", 5},
		{"409, then another has it", []fakes3.Fault{{Method: "PUT", Status: 409, Code: "ConditionalRequestConflict", N: 1}}, other, ErrExists, other, 2},
		{"500 always", []fakes3.Fault{{Method: "PUT", Status: 500, Code: "InternalError"}}, "", ErrUnknown, "", 5},
		{"reset after always", []fakes3.Fault{{Method: "PUT", Kind: fakes3.ResetAfter}}, "", nil, own, 5},
		{"500 always, taken", []fakes3.Fault{{Method: "PUT", Status: 500, Code: "InternalError"}}, other, ErrExists, other, 5},
		{"reset after, no read back", []fakes3.Fault{{Method: "PUT", Kind: fakes3.ResetAfter}, {Method: "HEAD", Status: 403, Code: "AccessDenied"}}, "", ErrUnknown, own, 5},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, server := openFake(t, quick)
			if c.before != "" {
				server.Store("some/prefix/k", c.before)
			}
			for _, f := range c.faults {
				server.Add(f)
			}
			_, err := s.Put(ctx, "k", []byte(own), PutOptions{})
			if !errors.Is(err, c.want) {
				t.Errorf("put: %v, want %v", err, c.want)
			}
			if c.want == ErrUnknown && !fail.Is(err, fail.CommitUnknown) {
				t.Errorf("unknown has code %v", fail.CodeOf(err))
			}
			if got, _ := server.Object("some/prefix/k"); string(got) != c.there {
				t.Errorf("stored %q, want %q", got, c.there)
			}
			if n := count(server, "PUT "); n != c.puts {
				t.Errorf("%d puts, want %d: %q", n, c.puts, server.Requests())
			}
		})
	}
}

func count(server *fakes3.Server, prefix string) (n int) {
	for _, r := range server.Requests() {
		if strings.HasPrefix(r, prefix) {
			n++
		}
	}
	return n
}

// A definite refusal is not repeated, has no effect and says so.
func TestS3PutRefused(t *testing.T) {
	s, server := openFake(t, quick)
	server.Add(fakes3.Fault{Method: "PUT", Status: 403, Code: "AccessDenied"})
	_, err := s.Put(ctx, "k", []byte("x"), PutOptions{})
	if !fail.Is(err, fail.Unavailable) || errors.Is(err, ErrUnknown) || count(server, "PUT ") != 1 {
		t.Errorf("%v after %d puts", err, count(server, "PUT "))
	}
}

// A caller that leaves in the middle of a write does not know its outcome.
func TestS3PutCanceled(t *testing.T) {
	s, server := openFake(t, S3Options{Backoff: time.Millisecond, Patience: time.Minute})
	server.Add(fakes3.Fault{Method: "PUT", Kind: fakes3.Slow, Delay: time.Minute})
	late, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	_, err := s.Put(late, "k", []byte("x"), PutOptions{})
	if !errors.Is(err, ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("put: %v", err)
	}
	server.Heal()
	server.Add(fakes3.Fault{Method: "GET", Kind: fakes3.Slow, Delay: time.Minute})
	late, cancel = context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err = s.Get(late, "k"); !fail.Is(err, fail.DeadlineExceeded) {
		t.Errorf("get: %v", err)
	}
	server.Heal()
	server.Add(fakes3.Fault{Method: "PUT", Status: 503, Code: "SlowDown", Header: http.Header{"Retry-After": {"30"}}})
	late, cancel = context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err = s.Put(late, "k", nil, PutOptions{}); !errors.Is(err, ErrUnknown) {
		t.Errorf("put in its pause: %v", err)
	}
}

func TestS3ReadFaults(t *testing.T) {
	body := strings.Repeat("0123456789", 1000)
	for name, f := range map[string]fakes3.Fault{
		"500": {Status: 500, Code: "InternalError"}, "503": {Status: 503, Code: "SlowDown"}, "reset": {Kind: fakes3.ResetBefore},
		"truncated": {Kind: fakes3.Truncate}, "slow": {Kind: fakes3.Slow, Delay: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			s, server := openFake(t, quick)
			put(t, s, "k", body)
			o, err := s.Open(ctx, "k")
			if err != nil {
				t.Fatal(err)
			}
			f.N = 2
			read := map[string]func() (string, error){
				"get":   func() (string, error) { b, err := s.Get(ctx, "k"); return string(b), err },
				"range": func() (string, error) { b, err := s.GetRange(ctx, "k", 0, 10000); return string(b), err },
				"read at": func() (string, error) {
					p := make([]byte, 10000)
					err := o.ReadAt(ctx, p, 0)
					return string(p), err
				},
			}
			for op, call := range read {
				server.Heal()
				server.Add(f)
				if got, err := call(); err != nil || got != body {
					t.Errorf("%s: %d bytes, %v", op, len(got), err)
				}
				if n := len(server.Requests()); n != 3 {
					t.Errorf("%s: %d requests", op, n)
				}
			}
			server.Heal()
			f.N = 0
			server.Add(f)
			for op, call := range read {
				if _, err := call(); !fail.Is(err, fail.Unavailable) {
					t.Errorf("%s, no end of faults: %v", op, err)
				}
			}
		})
	}
}

// A flipped bit is read again, and is Corrupt when it stays.
func TestS3Checksum(t *testing.T) {
	s, server := openFake(t, quick)
	put(t, s, "k", "the content")
	server.Add(fakes3.Fault{Method: "GET", Kind: fakes3.Corrupt, N: 1})
	if got := get(t, s, "k"); got != "the content" {
		t.Errorf("got %q", got)
	}
	server.Add(fakes3.Fault{Method: "GET", Kind: fakes3.Corrupt})
	if _, err := s.Get(ctx, "k"); !fail.Is(err, fail.Corrupt) {
		t.Errorf("rotten: %v", err)
	}
}

func TestS3Multipart(t *testing.T) {
	body := make([]byte, 300<<10) // five parts of 64 KiB, the last one short
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range body {
		body[i] = byte(rng.Uint32())
	}
	write := func(s *S3, body []byte) (Info, error) {
		w, err := s.Create(ctx, "big")
		if err != nil {
			return Info{}, err
		}
		defer w.Abort()
		if _, err := io.CopyBuffer(w, bytes.NewReader(body), make([]byte, 10_000)); err != nil {
			return Info{}, err
		}
		return w.Commit()
	}
	cases := []struct {
		name   string
		fault  *fakes3.Fault
		before bool
		ok     bool
		want   error
		code   fail.Code
	}{
		{"no fault", nil, false, true, nil, 0},
		{"taken", nil, true, false, ErrExists, fail.Conflict},
		{"a part again", &fakes3.Fault{Match: "partNumber=2", Kind: fakes3.ResetAfter, N: 1}, false, true, nil, 0},
		{"a part refused", &fakes3.Fault{Match: "partNumber=3", Status: 403, Code: "AccessDenied"}, false, false, nil, fail.Unavailable},
		{"no start", &fakes3.Fault{Match: "uploads", Status: 403, Code: "AccessDenied"}, false, false, nil, fail.Unavailable},
		{"completion lost", &fakes3.Fault{Method: "POST", Match: "uploadId", Kind: fakes3.ResetAfter, N: 1}, false, true, nil, 0},
		{"completion lost, taken", &fakes3.Fault{Method: "POST", Match: "uploadId", Kind: fakes3.ResetBefore, N: 1}, true, false, ErrExists, fail.Conflict},
		{"completion fails", &fakes3.Fault{Method: "POST", Match: "uploadId", Status: 500, Code: "InternalError"}, false, false, ErrUnknown, fail.CommitUnknown},
		{"an error inside of a 200", &fakes3.Fault{Method: "POST", Match: "uploadId", Status: 200, Code: "InternalError", N: 1}, false, true, nil, 0},
		{"conflict", &fakes3.Fault{Method: "POST", Match: "uploadId", Status: 409, Code: "ConditionalRequestConflict", N: 1}, false, true, nil, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, server := openFake(t, quick)
			if c.before {
				server.Store("some/prefix/big", "another's")
			}
			if c.fault != nil {
				server.Add(*c.fault)
			}
			info, err := write(s, body)
			if (err == nil) != c.ok || (c.want != nil && !errors.Is(err, c.want)) || (err != nil && fail.CodeOf(err) != c.code) {
				t.Fatalf("%+v %v", info, err)
			}
			if n := server.Uploads(); n != 0 {
				t.Errorf("%d uploads were left behind", n)
			}
			server.Heal()
			if c.ok {
				if got := get(t, s, "big"); got != string(body) || info.Size != int64(len(body)) {
					t.Errorf("read back %d bytes", len(got))
				}
			} else if got, _ := server.Object("some/prefix/big"); bytes.Equal(got, body) {
				t.Error("the object is there after a failure")
			}
		})
	}
}

// A writer whose context has ended neither commits nor leaves parts.
func TestS3WriterCanceled(t *testing.T) {
	s, server := openFake(t, quick)
	gone, cancel := context.WithCancel(ctx)
	w, err := s.Create(gone, "big")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, 200<<10)); err != nil {
		t.Fatal(err)
	}
	cancel()
	_, werr := w.Write(make([]byte, 200<<10))
	_, cerr := w.Commit()
	if werr == nil || !fail.Is(cerr, fail.Canceled) {
		t.Errorf("write %v, commit %v", werr, cerr)
	}
	if _, there := server.Object("some/prefix/big"); there || server.Uploads() != 0 {
		t.Errorf("there %v, %d uploads", there, server.Uploads())
	}
}

func TestS3Deletes(t *testing.T) {
	s, server := openFake(t, quick)
	var keys []string
	for i := range 40 {
		keys = append(keys, fmt.Sprintf("d/%d", i))
		put(t, s, keys[i], "x")
	}
	server.Add(fakes3.Fault{Method: "DELETE", Match: "d/7", Status: 500, Code: "InternalError", N: 1})
	server.Add(fakes3.Fault{Method: "DELETE", Match: "d/9", Kind: fakes3.ResetAfter, N: 1})
	if err := s.Delete(ctx, append(keys, "absent")...); err != nil {
		t.Fatal(err)
	}
	if page, err := s.List(ctx, "", ""); err != nil || len(page) != 0 {
		t.Errorf("%v %v", page, err)
	}
	server.Add(fakes3.Fault{Method: "DELETE", Status: 403, Code: "AccessDenied"})
	if err := s.Delete(ctx, "a", "b"); !fail.Is(err, fail.Unavailable) {
		t.Errorf("refused delete: %v", err)
	}
}

// What others put into the bucket is no object of the store.
func TestS3ForeignKeys(t *testing.T) {
	s, server := openFake(t, quick)
	for _, key := range []string{"some/prefix/", "some/prefix/folder/", "some/prefix/.hidden", "some/prefixed", "other/a", "some/prefix/ok"} {
		server.Store(key, "x")
	}
	page, err := s.List(ctx, "", "")
	if err != nil || len(page) != 1 || page[0].Key != "ok" {
		t.Errorf("%v %v", page, err)
	}
	if uri := s.URI("ok"); uri != "s3://loam-test/some/prefix/ok" {
		t.Error(uri)
	}
}
