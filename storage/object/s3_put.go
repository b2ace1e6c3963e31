package object

import (
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/zeebo/xxh3"

	"github.com/loamdb/loam/internal/fail"
)

// writerMeta is the user metadata that names the call which made an object, so
// that a writer whose reply was lost knows its own object from another's.
const writerMeta = "loam-writer"

// Put implements [Store]. A new name is created by one conditional write. When a
// reply was lost, the object is read back: what carries this call's mark is its own.
func (s *S3) Put(ctx context.Context, key string, body []byte, opt PutOptions) (Info, error) {
	if err := begin(ctx, key); err != nil {
		return Info{}, err
	}
	info := Info{Key: key, Size: int64(len(body)), Checksum: xxh3.Hash(body)}
	mark := s.ids.ULID()
	crc := crcText(crc32.Checksum(body, castagnoli))
	err := s.settle(ctx, key, mark, int64(len(body)), opt.Replace, func(ctx context.Context) error {
		in := &s3.PutObjectInput{Bucket: &s.bucket, Key: s.key(key), Body: bytes.NewReader(body), ChecksumCRC32C: crc,
			ContentLength: aws.Int64(int64(len(body))), Metadata: map[string]string{writerMeta: mark}}
		if !opt.Replace {
			in.IfNoneMatch = aws.String("*")
		}
		_, err := s.client.PutObject(ctx, in)
		return err
	})
	if err != nil {
		return Info{}, err
	}
	return info, nil
}

// settle runs a call that makes an object, as often as needed, and finds out what
// became of it.
//
//	unsure: an attempt so far may have taken effect
//
// A refusal because the name is taken (412) says that another has it only while
// nothing is unsure; afterwards it may be this very call's first attempt.
func (s *S3) settle(ctx context.Context, key, mark string, bytes int64, replace bool, call func(ctx context.Context) error) error {
	unsure := false
	for n := 1; ; n++ {
		err := s.once(ctx, bytes, call)
		if err == nil {
			return nil
		}
		v := judge(err)
		unsure = unsure || v.landed || ctx.Err() != nil
		taken := s3Status(err) == http.StatusPreconditionFailed
		switch {
		case taken && !unsure:
			return errExists(key)
		case ctx.Err() != nil:
			return errUnknown(key, ctx.Err())
		case taken, !v.again && unsure:
			return s.readBack(ctx, key, mark, replace, err)
		case !v.again:
			return s.failed("write", key, err)
		case n < s3Attempts:
			if s.pause(ctx, n, v) == nil {
				continue
			}
			if unsure {
				return errUnknown(key, ctx.Err())
			}
			return fail.Ended(ctx, "the call of the object store")
		case unsure:
			return s.readBack(ctx, key, mark, replace, err)
		default:
			return s.failed("write", key, err)
		}
	}
}

// readBack decides an unknown outcome by what is there now. When nothing is, the
// write may still be on its way, and stays unknown. So does a replacement that is
// not seen: another may have replaced it since.
func (s *S3) readBack(ctx context.Context, key, mark string, replace bool, cause error) error {
	h, err := s.head(ctx, key)
	switch {
	case err == nil && h.Metadata[writerMeta] == mark:
		return nil
	case err == nil && !replace:
		return errExists(key)
	}
	if err == nil || errors.Is(err, ErrNotFound) {
		err = s.failed("write", key, cause)
	}
	return errUnknown(key, err)
}

// putDamaged sends a body with the checksum of another, and reports whether the
// server took it.
func (s *S3) putDamaged(ctx context.Context, key string) (accepted bool, err error) {
	err = s.do(ctx, "write", key, 0, func(ctx context.Context) error {
		_, err := s.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &s.bucket, Key: s.key(key), Body: strings.NewReader("damaged"),
			ChecksumCRC32C: crcText(crc32.Checksum([]byte("what was meant"), castagnoli))})
		if accepted = err == nil; s3Status(err) == http.StatusBadRequest {
			return nil
		}
		return err
	})
	return accepted, err
}
