package object

import (
	"bytes"
	"context"
	"hash/crc32"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/zeebo/xxh3"
	"golang.org/x/sync/errgroup"

	"github.com/loamdb/loam/internal/fail"
)

const (
	// partsInFlight bounds the parts that one writer sends side by side.
	partsInFlight = 4
	// maxParts is S3's limit on one upload.
	maxParts = 10_000
	// abortPatience bounds the clean-up of an upload whose context has ended.
	abortPatience = 10 * time.Second
)

// Create implements [Store]. What fits into one part becomes a plain Put; more
// becomes a multipart upload, whose completion is conditional.
func (s *S3) Create(ctx context.Context, key string) (Writer, error) {
	if err := begin(ctx, key); err != nil {
		return nil, err
	}
	return &s3Writer{store: s, ctx: ctx, key: key}, nil
}

// s3Writer sends full parts while the next one fills. Memory: partsInFlight+1 parts.
type s3Writer struct {
	store *S3
	ctx   context.Context // of Create; the Writer interface has none
	key   string
	ended bool
	err   error // of the first Write that failed; Commit repeats it
	buf   []byte
	size  int64
	crc   uint32
	sum   xxh3.Hasher

	mark   string // of the upload
	upload string // its id; empty before the first full part
	group  *errgroup.Group
	sendTo context.Context // ends with the first part that fails
	free   chan []byte     // buffers of parts that were sent

	mu    sync.Mutex // guards parts
	parts []types.CompletedPart
}

func (w *s3Writer) Write(p []byte) (int, error) {
	if w.ended {
		return 0, errEnded(w.key)
	}
	if w.err != nil {
		return 0, w.err
	}
	written := len(p)
	w.crc = crc32.Update(w.crc, castagnoli, p)
	_, _ = w.sum.Write(p)
	w.size += int64(written)
	for len(p) > 0 {
		if len(w.buf) == w.store.opt.PartBytes {
			if w.err = w.send(); w.err != nil {
				return 0, w.err
			}
		}
		n := min(len(p), w.store.opt.PartBytes-len(w.buf))
		w.buf = append(w.buf, p[:n]...)
		p = p[n:]
	}
	return written, nil
}

// send starts the upload of the buffer as the next part. It waits while
// partsInFlight are under way.
func (w *s3Writer) send() error {
	if w.upload == "" {
		if err := w.start(); err != nil {
			return err
		}
	}
	if w.sendTo.Err() != nil { // a part has failed, or the caller's context has ended
		if err := w.group.Wait(); err != nil {
			return err
		}
		return fail.Ended(w.ctx, "the call of the object store")
	}
	number := len(w.parts)
	if number == maxParts {
		return fail.New(fail.TooLarge, "object %q is larger than %d parts of %d bytes", w.key, maxParts, w.store.opt.PartBytes)
	}
	w.mu.Lock()
	w.parts = append(w.parts, types.CompletedPart{})
	w.mu.Unlock()
	body := w.buf
	w.group.Go(func() error {
		err := w.sendPart(number, body)
		w.free <- body[:0]
		return err
	})
	select {
	case w.buf = <-w.free:
	default:
		w.buf = make([]byte, 0, w.store.opt.PartBytes)
	}
	return nil
}

func (w *s3Writer) start() error {
	s := w.store
	w.mark = s.ids.ULID()
	err := s.do(w.ctx, "start of the upload", w.key, 0, func(ctx context.Context) error {
		out, err := s.client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: &s.bucket, Key: s.key(w.key),
			ChecksumAlgorithm: types.ChecksumAlgorithmCrc32c, ChecksumType: types.ChecksumTypeFullObject,
			Metadata: map[string]string{writerMeta: w.mark}})
		if err == nil {
			w.upload = aws.ToString(out.UploadId)
		}
		return err
	})
	if err != nil {
		return err
	}
	w.group, w.sendTo = errgroup.WithContext(w.ctx)
	w.group.SetLimit(partsInFlight)
	w.free = make(chan []byte, partsInFlight+1) // room for all that there are
	return nil
}

func (w *s3Writer) sendPart(number int, body []byte) error {
	s := w.store
	part := types.CompletedPart{PartNumber: aws.Int32(int32(number + 1)), ChecksumCRC32C: crcText(crc32.Checksum(body, castagnoli))}
	err := s.do(w.sendTo, "upload of a part", w.key, int64(len(body)), func(ctx context.Context) error {
		out, err := s.client.UploadPart(ctx, &s3.UploadPartInput{Bucket: &s.bucket, Key: s.key(w.key), UploadId: &w.upload,
			PartNumber: part.PartNumber, Body: bytes.NewReader(body), ContentLength: aws.Int64(int64(len(body))), ChecksumCRC32C: part.ChecksumCRC32C})
		if err == nil {
			part.ETag = out.ETag
		}
		return err
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.parts[number] = part
	return err
}

// Commit makes the object. An upload that fails is aborted, so that its parts
// cost nothing.
func (w *s3Writer) Commit() (Info, error) {
	if w.ended {
		return Info{}, errEnded(w.key)
	}
	if w.upload == "" && w.err == nil {
		w.ended = true
		return w.store.Put(w.ctx, w.key, w.buf, PutOptions{})
	}
	err := w.complete()
	if err != nil {
		w.Abort()
		return Info{}, err
	}
	w.ended = true
	return Info{Key: w.key, Size: w.size, Checksum: w.sum.Sum64()}, nil
}

func (w *s3Writer) complete() error {
	if w.err != nil {
		return w.err
	}
	if len(w.buf) > 0 {
		if err := w.send(); err != nil {
			return err
		}
	}
	if err := w.group.Wait(); err != nil {
		return err
	}
	s := w.store
	return s.settle(w.ctx, w.key, w.mark, w.size, false, func(ctx context.Context) error {
		_, err := s.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{Bucket: &s.bucket, Key: s.key(w.key), UploadId: &w.upload,
			IfNoneMatch: aws.String("*"), ChecksumCRC32C: crcText(w.crc), ChecksumType: types.ChecksumTypeFullObject,
			MultipartUpload: &types.CompletedMultipartUpload{Parts: w.parts}})
		return err
	})
}

// Abort implements [Writer]. It waits for the parts under way, for a part that
// arrives after the abort would stay.
func (w *s3Writer) Abort() {
	if w.ended {
		return
	}
	w.ended, w.buf = true, nil
	if w.upload == "" {
		return
	}
	_ = w.group.Wait()
	s := w.store
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), abortPatience)
	defer cancel()
	// A failure leaves parts that nothing refers to; a lifecycle rule removes them.
	_ = s.do(ctx, "abort of the upload", w.key, 0, func(ctx context.Context) error {
		_, err := s.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &s.bucket, Key: s.key(w.key), UploadId: &w.upload})
		if s3Status(err) == http.StatusNotFound {
			return nil
		}
		return err
	})
}
