package object

import (
	"context"
	"errors"
	"io"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/loamdb/loam/internal/fail"
)

// The sentinels that callers act on, found with errors.Is. Each arrives inside a
// *fail.Error that names the object.
var (
	// ErrExists: the name is taken, and what is there is durable.
	ErrExists = errors.New("object exists")
	// ErrNotFound: no object of that name.
	ErrNotFound = errors.New("no such object")
	// ErrUnknown: the object may or may not exist, now or after a crash. Write
	// under a new name, or read back; never assume that it is absent.
	ErrUnknown = errors.New("outcome unknown")
)

// ListPage is the largest number of entries that one List returns.
const ListPage = 1000

// MaxKeyLen is the longest key in bytes.
const MaxKeyLen = 1024

// Info describes an object.
type Info struct {
	Key  string
	Size int64 // bytes
	// Checksum is XXH3-64 (seed 0) of the content. Put and Commit set it; Head
	// and List, which do not read the content, leave 0.
	Checksum uint64
}

// PutOptions say how an object is created. The zero value is right for all
// objects that anything refers to.
type PutOptions struct {
	// Replace overwrites an existing object atomically. Only for mirrors that are
	// derived and repairable (Lance tags), and for what a data directory says of
	// itself; never for a name that a manifest, a WAL reference or a ticket holds.
	Replace bool
}

// Store is an object store. All methods are safe for concurrent use. An error
// that is neither ErrExists, ErrNotFound nor ErrUnknown means that the call had
// no effect that a reader can see.
type Store interface {
	// Put creates the object. When it returns nil the object survives any crash.
	// It does not keep body. A taken name gives ErrExists and changes nothing.
	Put(ctx context.Context, key string, body []byte, opt PutOptions) (Info, error)
	// Create starts a large object that is written piece by piece. Either Commit
	// or Abort must be called on the writer.
	Create(ctx context.Context, key string) (Writer, error)
	// Get returns the whole object, in memory that belongs to the caller.
	Get(ctx context.Context, key string) ([]byte, error)
	// GetRange returns exactly n bytes from off, or fails with Corrupt when the
	// object ends before that.
	GetRange(ctx context.Context, key string, off, n int64) ([]byte, error)
	// Open returns a handle for many reads. The caller closes it.
	Open(ctx context.Context, key string) (Object, error)
	// Head describes the object without reading it.
	Head(ctx context.Context, key string) (Info, error)
	// List returns the objects whose keys begin with prefix and sort after the
	// key after, in byte order of their keys, at most ListPage. Fewer than
	// ListPage means that there are no more. See [All].
	List(ctx context.Context, prefix, after string) ([]Info, error)
	// Delete removes the objects; absent ones are passed over. A crash soon after
	// may bring them back. It stops at the first failure.
	Delete(ctx context.Context, keys ...string) error
	// URI is the address of the object for other engines, such as file:///data/x.
	URI(key string) string
}

// Writer is an object in the making. It is used by one goroutine at a time. The
// object does not exist before Commit returns nil.
type Writer interface {
	io.Writer
	// Commit makes the object durable and visible, with the errors of Put.
	Commit() (Info, error)
	// Abort drops what was written. After Commit it does nothing.
	Abort()
}

// Object is an open object. ReadAt is safe for concurrent use. What was opened
// stays readable after a Delete on the file and memory stores.
type Object interface {
	// ReadAt fills p from off, or fails: Corrupt when the object ends before that.
	ReadAt(ctx context.Context, p []byte, off int64) error
	// Size is the length in bytes.
	Size() int64
	Close() error
}

// OpenSized opens an object whose size is known from what refers to it: on a store
// that charges by the request, opening then costs none. An object that is not there,
// or not of that size, may fail at the first read only.
func OpenSized(ctx context.Context, s Store, key string, size int64) (Object, error) {
	if remote, ok := s.(*S3); ok {
		if err := begin(ctx, key); err != nil {
			return nil, err
		}
		return &s3Object{store: remote, key: key, size: size}, nil
	}
	o, err := s.Open(ctx, key)
	if err == nil && o.Size() != size {
		err = errors.Join(fail.New(fail.Corrupt, "object %q has %d bytes, %d are expected", key, o.Size(), size), o.Close())
	}
	if err != nil {
		return nil, err
	}
	return o, nil
}

// Far reports whether each read of the store costs a round trip, so that few large ones
// are better than many small ones.
func Far(s Store) bool {
	_, remote := s.(*S3)
	return remote
}

// All walks every object under the prefix in key order. The first error ends the walk.
func All(ctx context.Context, s Store, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		for after := ""; ; {
			page, err := s.List(ctx, prefix, after)
			if err != nil {
				yield(Info{}, err)
				return
			}
			for _, info := range page {
				if !yield(info, nil) {
					return
				}
			}
			if len(page) < ListPage {
				return
			}
			after = page[len(page)-1].Key
		}
	}
}

// checkKey refuses names that would leave the store or collide with its own files.
func checkKey(key string) error {
	bad := key == "" || len(key) > MaxKeyLen || !utf8.ValidString(key) ||
		strings.ContainsFunc(key, func(r rune) bool { return r < 0x20 || r == '\\' || r == 0x7f })
	if !bad {
		for part := range strings.SplitSeq(key, "/") {
			// A leading dot is the store's own (.tmp), a step up, or hidden.
			bad = bad || part == "" || part[0] == '.' || len(part) > 255
		}
	}
	if bad || key == lockName {
		return fail.New(fail.InvalidParameter, "object key %q is not valid", key).
			WithHint("A key is a relative path with slashes; no part is empty, begins with a dot or is longer than 255 bytes.")
	}
	return nil
}

func errExists(key string) error {
	return fail.Wrap(fail.Conflict, ErrExists, "object %q", key)
}

func errNotFound(key string) error {
	return fail.Wrap(fail.Corrupt, ErrNotFound, "object %q", key)
}

// errUnknown keeps both the sentinel and the cause in the chain.
func errUnknown(key string, cause error) error {
	return fail.Wrap(fail.CommitUnknown, errors.Join(ErrUnknown, cause), "object %q", key)
}

func errShort(key string, off, n, size int64) error {
	return fail.New(fail.Corrupt, "object %q has %d bytes, bytes %d to %d were asked for", key, size, off, off+n)
}

// inRange reports whether [off, off+n) lies in an object of the size.
func inRange(off, n, size int64) bool {
	return off >= 0 && n >= 0 && off <= size && n <= size-off
}
