package metastore

import "context"

// kv is what the transactions need of a back end: reads of several spans at one
// revision, and a write under compares. Keys sort by bytes.
type kv interface {
	// read is linearizable; all spans are of one revision. At most maxOps spans.
	read(ctx context.Context, spans []span) (rows [][]row, revision int64, err error)
	// write applies all ops if all conds hold. An *unknownError says that it may
	// have been applied, or may yet be.
	write(ctx context.Context, conds []cond, ops []op) (ok bool, err error)
	size() int64
	close() error
}

// maxOps is the number of spans of a read, and of ops or conds of a write.
const maxOps = 100

// span is one key (to is empty), or the keys in [from, to), at most limit (0: all).
type span struct {
	from, to string
	limit    int
}

// row is a key that exists.
type row struct {
	key   string
	value []byte
	mod   int64 // revision of its last write
}

// cond holds when the key's last write was at mod; 0 means that it is absent.
type cond struct {
	key string
	mod int64
}

// op puts value at key, or deletes key, or with to set deletes [key, to).
type op struct {
	key, to string
	value   []byte
	del     bool
}

// unknownError is a write whose outcome is not known.
type unknownError struct{ cause error }

func (e *unknownError) Error() string { return "outcome unknown: " + e.cause.Error() }
func (e *unknownError) Unwrap() error { return e.cause }

func keySpan(key string) span { return span{from: key} }

func prefixSpan(prefix string) span { return span{from: prefix, to: prefixEnd(prefix)} }

// prefixEnd is the first key after all keys with the prefix.
func prefixEnd(prefix string) string {
	b := []byte(prefix)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] < 0xff {
			b[i]++
			return string(b[:i+1])
		}
	}
	return "\xff"
}
