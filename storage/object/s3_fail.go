package object

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/loamdb/loam/internal/fail"
)

// s3Attempts is how often a call is tried; with pauses that double from 100 ms,
// the last attempt begins a second and a half after the first failed at once.
const s3Attempts = 5

// maxPause bounds a pause between attempts, also one that the server asks for.
const maxPause = 5 * time.Second

// verdict is what an error of one attempt means.
type verdict struct {
	again  bool          // another attempt may succeed
	landed bool          // this one may have taken effect
	pause  time.Duration // that the server asks for
}

// do runs a call that may be repeated, until it succeeds, fails for good, or ctx ends.
func (s *S3) do(ctx context.Context, op, key string, bytes int64, call func(ctx context.Context) error) error {
	for n := 1; ; n++ {
		err := s.once(ctx, bytes, call)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fail.Ended(ctx, "the call of the object store")
		}
		v := judge(err)
		if !v.again || n == s3Attempts {
			return s.failed(op, key, err)
		}
		if err := s.pause(ctx, n, v); err != nil {
			return err
		}
	}
}

// once runs one attempt under a bound of its own: a server that does not answer
// costs an attempt, not the caller's whole time.
func (s *S3) once(ctx context.Context, bytes int64, call func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.opt.Patience+time.Duration(bytes>>20)*time.Second)
	defer cancel()
	return call(ctx)
}

// pause waits before attempt n+1: between a half and the whole of a time that doubles.
func (s *S3) pause(ctx context.Context, n int, v verdict) error {
	d := min(s.opt.Backoff<<(n-1), maxPause)
	d = d/2 + time.Duration(s.ids.Uint64()%uint64(d/2+1))
	if s.clk.Sleep(ctx, min(max(d, v.pause), maxPause)) != nil {
		return fail.Ended(ctx, "the call of the object store")
	}
	return nil
}

// judge reads the error of one attempt.
func judge(err error) verdict {
	var own *fail.Error
	if errors.As(err, &own) {
		return verdict{}
	}
	var reply *smithyhttp.ResponseError
	if errors.As(err, &reply) && reply.Response != nil {
		return judgeReply(reply, s3Code(err))
	}
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return verdict{again: true}
	}
	var send *smithyhttp.RequestSendError
	var wire net.Error
	again := errors.As(err, &send) || errors.As(err, &wire) || errors.Is(err, errDamaged) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded)
	if again && strings.Contains(err.Error(), "HTTP response to HTTPS client") {
		return verdict{}
	}
	return verdict{again: again, landed: again}
}

func judgeReply(reply *smithyhttp.ResponseError, code string) verdict {
	status := reply.HTTPStatusCode()
	seconds, _ := strconv.Atoi(reply.Response.Header.Get("Retry-After"))
	v := verdict{pause: time.Duration(min(max(seconds, 0), 60)) * time.Second}
	switch {
	case code == "NotImplemented" || status == http.StatusNotImplemented:
	case status >= http.StatusInternalServerError:
		v.again, v.landed = true, true
	case status < http.StatusBadRequest: // an error inside of a 200, or a reply that cannot be read
		v.again, v.landed = status < http.StatusMultipleChoices, true
	case status == http.StatusConflict:
		v.again, v.landed = true, true // another write of the name is under way, or this call's own earlier attempt
	case status == http.StatusTooManyRequests, code == "SlowDown", code == "RequestTimeTooSkewed", code == "RequestTimeout":
		v.again = true // refused before anything happened; the SDK has learnt the server's clock
	}
	return v
}

// s3Code is the code of S3's error document, or empty.
func s3Code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

func s3Status(err error) int {
	var reply *smithyhttp.ResponseError
	if errors.As(err, &reply) && reply.Response != nil {
		return reply.HTTPStatusCode()
	}
	return 0
}

// cures are what can be done about an error of S3, by its code. %b is the bucket,
// %w the server.
var cures = []struct{ codes, cause, cure string }{
	{"NoSuchBucket", "there is no bucket %b at %w", "Make the bucket, or correct its name, the region or the endpoint."},
	{"AccessDenied AllAccessDisabled AccountProblem Forbidden", "access is denied",
		"The credentials need s3:GetObject, s3:PutObject, s3:DeleteObject and s3:AbortMultipartUpload on the objects and s3:ListBucket on bucket %b."},
	{"RequestTimeTooSkewed", "this machine's clock differs too much from the server's", "Set the clock of this machine, for instance by NTP."},
	{"ExpiredToken ExpiredTokenException TokenRefreshRequired", "the session token has expired",
		"Get new credentials (aws sso login, or a new AWS_SESSION_TOKEN) and start again."},
	{"InvalidAccessKeyId InvalidToken InvalidClientTokenId", "the server does not know the access key", "Look at AWS_ACCESS_KEY_ID, AWS_SESSION_TOKEN and the endpoint."},
	{"SignatureDoesNotMatch", "the signature is wrong", "Look at AWS_SECRET_ACCESS_KEY; behind a proxy, let the Host header pass unchanged."},
	{"NotImplemented", "the server cannot do this", "Loam needs conditional writes (If-None-Match: *) and CRC32C checksums; loam doctor store tells which are there."},
	{"SlowDown TooManyRequests Throttling", "the server is overloaded", "Try again later; spread collections over several prefixes when it stays."},
	{"BadDigest XAmzContentChecksumMismatch", "the bytes were changed on the way to the server", "Look for a proxy that rewrites bodies; try again."},
}

// failed names an error: the operation, the bucket and key, the cause and the cure.
func (s *S3) failed(op, key string, err error) error {
	var own *fail.Error
	code, status := s3Code(err), s3Status(err)
	switch {
	case errors.As(err, &own):
		return err
	case code == "NoSuchKey", code == "NotFound" && op != "list":
		return errNotFound(key)
	case code == "NotFound":
		return s.noS3(status)
	case errors.Is(err, errDamaged):
		return fail.Wrap(fail.Corrupt, err, "%s of %s", op, s.URI(key))
	}
	cause, cure := s.explain(code, status, err)
	out := fail.Wrap(fail.Unavailable, &s3Error{cause, err}, "%s of %s", op, s.URI(key))
	return fail.As(out).WithHint("%s", cure)
}

// s3Error shows the cause in plain words and keeps the chain.
type s3Error struct {
	text  string
	cause error
}

func (e *s3Error) Error() string { return e.text }

func (e *s3Error) Unwrap() error { return e.cause }

func (s *S3) explain(code string, status int, err error) (cause, cure string) {
	fill := strings.NewReplacer("%b", strconv.Quote(s.bucket), "%w", s.where)
	if code == "" || code == "UnknownError" || code == "Forbidden" {
		switch status {
		case http.StatusForbidden:
			code = "AccessDenied" // a HEAD has no document
		case http.StatusTooManyRequests:
			code = "SlowDown"
		}
	}
	if region := rightRegion(err); region != "" {
		return "bucket " + strconv.Quote(s.bucket) + " is in region " + region + ", not " + s.client.Options().Region, "Set AWS_REGION=" + region + "."
	}
	for _, c := range cures {
		for known := range strings.FieldsSeq(c.codes) {
			if known == code {
				return fill.Replace(c.cause) + " (" + code + ")", fill.Replace(c.cure)
			}
		}
	}
	text := err.Error()
	var parse *smithy.DeserializationError
	switch {
	case strings.Contains(text, "HTTP response to HTTPS client"):
		return s.where + " speaks HTTP, not HTTPS", "Write http:// in the endpoint."
	case status >= http.StatusInternalServerError:
		return s.where + " answered with status " + strconv.Itoa(status) + " " + code, "Look at the log of the object store; the call may be tried again."
	case errors.As(err, &parse), status != 0 && (code == "" || code == "UnknownError" || code == strings.ReplaceAll(http.StatusText(status), " ", "")):
		own := s.noS3(status)
		return own.Message, own.Hint
	case status != 0:
		return s.where + " refused it: " + code + ", " + message(err), "Look at the bucket, the region and the endpoint."
	}
	return s.where + " cannot be reached: " + root(err), "Look at the endpoint, the network and whether the store runs."
}

// noS3 is the error of an endpoint that answers, but not as S3 does.
func (s *S3) noS3(status int) *fail.Error {
	return fail.New(fail.Unavailable, "the answer of %s for %s is not S3's (status %d)", s.where, s.URI(""), status).
		WithHint("Look at the endpoint: it is the address of the S3 API, not of a console or a web server.")
}

// rightRegion is the region that the server says the bucket is in, when that is the fault.
func rightRegion(err error) string {
	var reply *smithyhttp.ResponseError
	if !errors.As(err, &reply) || reply.Response == nil {
		return ""
	}
	status := reply.HTTPStatusCode()
	if status != http.StatusMovedPermanently && status != http.StatusTemporaryRedirect && status != http.StatusBadRequest {
		return ""
	}
	return reply.Response.Header.Get("X-Amz-Bucket-Region")
}

func message(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorMessage()
	}
	return err.Error()
}

// root is the innermost text of a chain: the SDK wraps five deep.
func root(err error) string {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Error()
	}
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err.Error()
}
