package object

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/loamdb/loam/internal/fail"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// crcText is a CRC32C as S3 writes it: big-endian, base64.
func crcText(crc uint32) *string {
	return aws.String(base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, crc)))
}

// errDamaged: what arrived is not what the server says it stored. It may be the
// wire, so that reading again is worth it.
var errDamaged = errors.New("the content does not match its CRC32C checksum")

// trustBytes is how much memory a reply's announced length gets before any byte arrived.
const trustBytes = 64 << 20

// askChecksum makes the server send the checksum. The SDK's own switch would also
// make it check; that is done here once, with a typed error.
func askChecksum(o *s3.Options) {
	o.APIOptions = append(o.APIOptions, smithyhttp.SetHeaderValue("x-amz-checksum-mode", "ENABLED"))
}

// Get implements [Store]. The content is checked against the CRC32C that the
// server keeps, where it keeps one of the whole.
func (s *S3) Get(ctx context.Context, key string) ([]byte, error) {
	if err := begin(ctx, key); err != nil {
		return nil, err
	}
	var body []byte
	err := s.do(ctx, "read", key, trustBytes, func(ctx context.Context) (err error) {
		body, err = s.getOnce(ctx, key)
		return err
	})
	if err != nil {
		return nil, err
	}
	return body, nil
}

// getOnce is one attempt of Get.
func (s *S3) getOnce(ctx context.Context, key string) ([]byte, error) {
	out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: s.key(key)}, askChecksum)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Body.Close() }()
	body, err := readAll(out.Body, aws.ToInt64(out.ContentLength))
	if err != nil {
		return nil, err
	}
	// "…-3" is the checksum of three parts' checksums, not of the content.
	if want := aws.ToString(out.ChecksumCRC32C); want != "" && !strings.Contains(want, "-") && want != *crcText(crc32.Checksum(body, castagnoli)) {
		return nil, errDamaged
	}
	return body, nil
}

// readAll reads n bytes, or less than n with io.ErrUnexpectedEOF.
func readAll(r io.Reader, n int64) ([]byte, error) {
	body := make([]byte, min(n, trustBytes))
	for read := 0; ; {
		m, err := io.ReadFull(r, body[read:])
		read += m
		switch {
		case errors.Is(err, io.EOF) && int64(read) < n:
			return nil, io.ErrUnexpectedEOF
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		case int64(read) == n:
			return body, nil
		}
		body = append(body, make([]byte, min(n-int64(read), int64(read)))...)
	}
}

// GetRange implements [Store].
func (s *S3) GetRange(ctx context.Context, key string, off, n int64) ([]byte, error) {
	if err := begin(ctx, key); err != nil {
		return nil, err
	}
	if off < 0 || n <= 0 || off > math.MaxInt64-n {
		return nil, s.noBytes(ctx, key, off, n)
	}
	var body []byte
	err := s.readRange(ctx, key, off, n, func(r io.Reader) (err error) {
		body, err = readAll(r, n)
		return err
	})
	return body, err
}

// noBytes decides a range that has no bytes, or none that there can be.
func (s *S3) noBytes(ctx context.Context, key string, off, n int64) error {
	info, err := s.Head(ctx, key)
	if err == nil && !inRange(off, n, info.Size) {
		err = errShort(key, off, n, info.Size)
	}
	return err
}

// readRange hands the n > 0 bytes from off to fill, again after each failure on the way.
func (s *S3) readRange(ctx context.Context, key string, off, n int64, fill func(io.Reader) error) error {
	err := s.do(ctx, "read", key, n, func(ctx context.Context) error {
		rng := "bytes=" + strconv.FormatInt(off, 10) + "-" + strconv.FormatInt(off+n-1, 10)
		out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: s.key(key), Range: &rng})
		if err != nil {
			return err
		}
		defer func() { _ = out.Body.Close() }()
		from, size, ok := contentRange(aws.ToString(out.ContentRange))
		whole := out.ContentRange == nil && off == 0 && aws.ToInt64(out.ContentLength) == n
		switch {
		case whole:
		case !ok || from != off:
			return fail.New(fail.Unavailable, "%s does not read ranges: %s of %s was answered with %q", s.where, rng, s.URI(key), aws.ToString(out.ContentRange)).
				WithHint("Loam needs a store with range reads; loam doctor store tells more.")
		case size < off+n:
			return errShort(key, off, n, size)
		case aws.ToInt64(out.ContentLength) != n:
			return io.ErrUnexpectedEOF
		}
		return fill(out.Body)
	})
	if s3Code(err) == "InvalidRange" {
		return s.pastEnd(ctx, key, off, n, err)
	}
	return err
}

// pastEnd says how long the object is in which off lies behind the end.
func (s *S3) pastEnd(ctx context.Context, key string, off, n int64, was error) error {
	info, err := s.Head(ctx, key)
	switch {
	case err != nil:
		return err
	case inRange(off, n, info.Size):
		return was
	}
	return errShort(key, off, n, info.Size)
}

// contentRange reads "bytes 0-4/10".
func contentRange(text string) (from, size int64, ok bool) {
	rest, unit := strings.CutPrefix(text, "bytes ")
	span, total, slash := strings.Cut(rest, "/")
	first, _, dash := strings.Cut(span, "-")
	from, err1 := strconv.ParseInt(first, 10, 64)
	size, err2 := strconv.ParseInt(total, 10, 64)
	return from, size, unit && slash && dash && err1 == nil && err2 == nil
}

// Open implements [Store]. Reads after a Delete fail with ErrNotFound.
func (s *S3) Open(ctx context.Context, key string) (Object, error) {
	info, err := s.Head(ctx, key)
	if err != nil {
		return nil, err
	}
	return &s3Object{store: s, key: key, size: info.Size}, nil
}

type s3Object struct {
	store *S3
	key   string
	size  int64
}

func (o *s3Object) ReadAt(ctx context.Context, p []byte, off int64) error {
	if err := fail.Ended(ctx, "the call of the object store"); err != nil {
		return err
	}
	if !inRange(off, int64(len(p)), o.size) {
		return errShort(o.key, off, int64(len(p)), o.size)
	}
	if len(p) == 0 {
		return nil
	}
	return o.store.readRange(ctx, o.key, off, int64(len(p)), func(r io.Reader) error {
		_, err := io.ReadFull(r, p)
		return err
	})
}

func (o *s3Object) Size() int64 { return o.size }

func (o *s3Object) Close() error { return nil }
