package object

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"golang.org/x/sync/errgroup"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

// S3Options say how a bucket is reached. The zero value is right for AWS; what is
// empty comes from the AWS_* environment and the shared configuration files.
type S3Options struct {
	// Endpoint is the URL of a server that is not AWS's, such as http://127.0.0.1:7070.
	Endpoint string
	// Region of the bucket. With an endpoint, us-east-1 where nothing says another.
	Region string
	// Addressing is "path" (endpoint/bucket/key) or "virtual" (bucket.endpoint/key).
	// Empty: path with an endpoint, else virtual.
	Addressing string
	// PartBytes is the size of the parts of a large object; 0 means 8 MiB, and
	// servers refuse less than 5 MiB. A writer holds at most partsInFlight+1 of them.
	PartBytes int
	// Backoff is the first pause before a call is tried again; it doubles. 0
	// means 100 ms.
	Backoff time.Duration
	// Patience bounds one attempt of a call, beside a second for each MiB; 0 means 15 s.
	Patience time.Duration
}

// S3 keeps objects in a bucket, under a prefix. It creates by conditional writes
// (If-None-Match: *): on a server that ignores them two writers of one name may
// both win. [Probe] finds such a server.
type S3 struct {
	client *s3.Client
	http   *http.Client
	clk    clock.Clock
	ids    clock.IDs
	opt    S3Options
	where  string // of the server, for errors
	bucket string
	prefix string // empty or with a slash at its end
}

var _ Store = (*S3)(nil)

// ParseS3 splits an address such as s3://bucket/some/prefix; the prefix comes
// back without slashes at its ends.
func ParseS3(address string) (bucket, prefix string, err error) {
	rest, ok := strings.CutPrefix(address, "s3://")
	bucket, prefix, _ = strings.Cut(rest, "/")
	prefix = strings.Trim(prefix, "/")
	if !ok || bucket == "" || strings.ContainsAny(bucket, "?#@: ") || (prefix != "" && checkKey(prefix) != nil) {
		return "", "", fail.New(fail.InvalidParameter, "%q is no address of an S3 store", address).
			WithHint("Write s3://bucket or s3://bucket/prefix; the server's address goes into --endpoint.")
	}
	return bucket, prefix, nil
}

// OpenS3 makes a store of an address such as s3://bucket/prefix and reads one page
// of its listing, so that a wrong address, region or key is known now. The caller
// closes it.
func OpenS3(ctx context.Context, address string, clk clock.Clock, ids clock.IDs, opt S3Options) (*S3, error) {
	s, err := newS3(ctx, address, clk, ids, opt)
	if err != nil {
		return nil, err
	}
	if _, err := s.List(ctx, "", ""); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func newS3(ctx context.Context, address string, clk clock.Clock, ids clock.IDs, opt S3Options) (*S3, error) {
	bucket, prefix, err := ParseS3(address)
	if err != nil {
		return nil, err
	}
	if err := opt.fill(); err != nil {
		return nil, err
	}
	s := &S3{clk: clk, ids: ids, opt: opt, bucket: bucket, prefix: prefix}
	if prefix != "" {
		s.prefix += "/"
	}
	sdk := awshttp.NewBuildableClient().WithTransportOptions(s.opt.transport)
	cfg, err := config.LoadDefaultConfig(ctx, config.WithHTTPClient(sdk))
	if err != nil {
		return nil, fail.New(fail.InvalidParameter, "the AWS configuration cannot be read: %v", err).
			WithHint("Look at AWS_PROFILE, ~/.aws/config and ~/.aws/credentials.")
	}
	if configured, ok := cfg.HTTPClient.(*awshttp.BuildableClient); ok {
		sdk = configured
	}
	s.http = httpClient(sdk)
	cfg.HTTPClient = s.http
	if err := s.connect(ctx, cfg); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (o *S3Options) fill() error {
	if o.PartBytes <= 0 {
		o.PartBytes = 8 << 20
	}
	if o.Backoff <= 0 {
		o.Backoff = 100 * time.Millisecond
	}
	if o.Patience <= 0 {
		o.Patience = 15 * time.Second
	}
	if o.Addressing != "" && o.Addressing != "path" && o.Addressing != "virtual" {
		return fail.New(fail.InvalidParameter, "%q is no way to address a bucket", o.Addressing).WithHint("Write path or virtual.")
	}
	if o.Endpoint == "" {
		return nil
	}
	if u, err := url.Parse(o.Endpoint); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return fail.New(fail.InvalidParameter, "endpoint %q is no URL", o.Endpoint).WithHint("Write http://host:port or https://host.")
	}
	return nil
}

// connect makes the client. The SDK tries nothing again by itself: whether a call
// may be repeated depends on what it does, which S3.do knows.
func (s *S3) connect(ctx context.Context, cfg aws.Config) error {
	creds, err := cfg.Credentials.Retrieve(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return fail.Ended(ctx, "the call of the object store")
	case err != nil:
		return fail.New(fail.Unavailable, "no credentials for s3://%s: %v", s.bucket, err).
			WithHint("Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or run where a role is attached.")
	case creds.AccessKeyID == "":
		return fail.New(fail.Unavailable, "the credentials for s3://%s are empty", s.bucket).WithHint("Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.")
	}
	s.client = s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.Retryer = aws.NopRetryer{}
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		if s.opt.Region != "" {
			o.Region = s.opt.Region
		}
		if s.opt.Endpoint != "" {
			o.BaseEndpoint = aws.String(strings.TrimRight(s.opt.Endpoint, "/"))
		}
		if o.BaseEndpoint != nil && o.Region == "" {
			o.Region = "us-east-1"
		}
		o.UsePathStyle = s.opt.Addressing == "path" || (s.opt.Addressing == "" && o.BaseEndpoint != nil)
	})
	o := s.client.Options()
	s.where = "AWS S3"
	if o.BaseEndpoint != nil {
		s.where = *o.BaseEndpoint
	}
	if o.Region == "" {
		return fail.New(fail.InvalidParameter, "no region for s3://%s", s.bucket).WithHint("Set AWS_REGION to the region of the bucket.")
	}
	return nil
}

// transport gives the SDK's own room for many requests at once, and a bound on
// the wait for a reply to begin.
func (o *S3Options) transport(tr *http.Transport) {
	tr.ResponseHeaderTimeout = o.Patience
	tr.MaxIdleConnsPerHost = 64
	tr.MaxIdleConns = 64
	tr.DisableCompression = true // checksums and ranges count stored bytes
	tr.WriteBufferSize, tr.ReadBufferSize = 64<<10, 64<<10
	tr.DialContext = (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext
}

// httpClient is made of what the SDK has configured, such as the certificates of
// AWS_CA_BUNDLE. It follows no redirects: S3 answers with one when the region is wrong.
func httpClient(sdk *awshttp.BuildableClient) *http.Client {
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     sdk.GetTransport(),
	}
}

// Close gives the idle connections back. Running calls go on.
func (s *S3) Close() error {
	s.http.CloseIdleConnections()
	return nil
}

// URI implements [Store].
func (s *S3) URI(key string) string { return "s3://" + s.bucket + "/" + s.prefix + key }

func (s *S3) key(key string) *string { return aws.String(s.prefix + key) }

// Head implements [Store].
func (s *S3) Head(ctx context.Context, key string) (Info, error) {
	h, err := s.head(ctx, key)
	if err != nil {
		return Info{}, err
	}
	return Info{Key: key, Size: aws.ToInt64(h.ContentLength)}, nil
}

func (s *S3) head(ctx context.Context, key string) (*s3.HeadObjectOutput, error) {
	if err := begin(ctx, key); err != nil {
		return nil, err
	}
	var out *s3.HeadObjectOutput
	err := s.do(ctx, "head", key, 0, func(ctx context.Context) (err error) {
		out, err = s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: s.key(key)})
		return err
	})
	return out, err
}

// List implements [Store]. Keys that Loam cannot have made are left out.
func (s *S3) List(ctx context.Context, prefix, after string) ([]Info, error) {
	if err := fail.Ended(ctx, "the call of the object store"); err != nil {
		return nil, err
	}
	in := &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: s.key(prefix)}
	if after != "" {
		in.StartAfter = s.key(after)
	}
	var page []Info
	last := ""
	for {
		in.MaxKeys = aws.Int32(int32(ListPage - len(page)))
		var out *s3.ListObjectsV2Output
		err := s.do(ctx, "list", prefix, 0, func(ctx context.Context) (err error) {
			out, err = s.client.ListObjectsV2(ctx, in)
			if err == nil && out.Name == nil { // the SDK reads any XML, and any HTML
				return s.noS3(http.StatusOK)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, o := range out.Contents {
			full := aws.ToString(o.Key)
			key, ours := strings.CutPrefix(full, s.prefix)
			if full <= last || !strings.HasPrefix(key, prefix) {
				return nil, fail.New(fail.Corrupt, "%s lists %q out of order in s3://%s", s.where, full, s.bucket).
					WithHint("Loam needs listings in the byte order of the keys; loam doctor store tells more.")
			}
			if last = full; ours && key > after && checkKey(key) == nil {
				page = append(page, Info{Key: key, Size: aws.ToInt64(o.Size)})
			}
		}
		if !aws.ToBool(out.IsTruncated) || len(page) >= ListPage {
			return page, nil
		}
		in.ContinuationToken, in.StartAfter = out.NextContinuationToken, nil
	}
}

// deletesInFlight bounds the deletes that one call has under way.
const deletesInFlight = 16

// Delete implements [Store]. Keys are deleted side by side; after the first
// failure no more are begun.
func (s *S3) Delete(ctx context.Context, keys ...string) error {
	for _, key := range keys {
		if err := begin(ctx, key); err != nil {
			return err
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(deletesInFlight)
	for _, key := range keys {
		g.Go(func() error {
			err := s.do(ctx, "delete", key, 0, func(ctx context.Context) error {
				_, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.bucket, Key: s.key(key)})
				return err
			})
			if errors.Is(err, ErrNotFound) {
				return nil
			}
			return err
		})
	}
	return g.Wait()
}
