package object

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

// Op names a call of a store in a [Fault]. Commit is that of a Writer, ReadAt
// that of an open Object.
type Op string

// The operations that can fail.
const (
	OpPut      Op = "put"
	OpCreate   Op = "create"
	OpCommit   Op = "commit"
	OpGet      Op = "get"
	OpGetRange Op = "get_range"
	OpOpen     Op = "open"
	OpReadAt   Op = "read_at"
	OpHead     Op = "head"
	OpList     Op = "list"
	OpDelete   Op = "delete"
)

// FaultKind says what a fault does.
type FaultKind uint8

const (
	// FailBefore: the call fails and has no effect.
	FailBefore FaultKind = iota
	// FailAfter: the call takes effect and its reply is lost: ErrUnknown.
	FailAfter
	// LostBefore: the call has no effect and its reply is lost too: ErrUnknown.
	LostBefore
	// Delay: the call waits first, on the clock.
	Delay
	// CorruptRead: one bit of what is read is flipped.
	CorruptRead
)

// Fault is a rule for [Faulty].
type Fault struct {
	Op     Op     // empty: any
	Prefix string // of the key
	Kind   FaultKind
	Skip   int           // matching calls to let pass first
	N      int           // calls to hit then; 0: all
	Delay  time.Duration // for Delay
	Bit    int64         // for CorruptRead: which bit of the bytes read, modulo their number
	Err    error         // the cause; nil: a plain one
}

// ErrInjected is the cause of every fault that names no other.
var ErrInjected = errors.New("injected fault")

// Faulty wraps a store and makes its calls fail by rules. For tests.
type Faulty struct {
	inner Store
	clk   clock.Clock

	mu    sync.Mutex // guards the fields below
	rules []*Fault
	calls map[Op]int
	hits  int
}

// NewFaulty wraps inner. Without rules it changes nothing.
func NewFaulty(inner Store, clk clock.Clock) *Faulty {
	return &Faulty{inner: inner, clk: clk, calls: map[Op]int{}}
}

// Add puts a rule in force. The first rule that matches a call decides.
func (f *Faulty) Add(rule Fault) {
	if rule.N == 0 {
		rule.N = -1
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = append(f.rules, &rule)
}

// Clear removes all rules.
func (f *Faulty) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = nil
}

// Hits is the number of calls that a rule hit.
func (f *Faulty) Hits() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hits
}

// Calls is the number of calls of an operation.
func (f *Faulty) Calls(op Op) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[op]
}

func (f *Faulty) match(op Op, key string) (Fault, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[op]++
	for _, r := range f.rules {
		if r.N == 0 || (r.Op != "" && r.Op != op) || !strings.HasPrefix(key, r.Prefix) {
			continue
		}
		if r.Skip > 0 {
			r.Skip--
			continue
		}
		if r.N > 0 {
			r.N--
		}
		f.hits++
		return *r, true
	}
	return Fault{}, false
}

// guard runs a call under the rules. p, when not nil, points to the bytes that
// the call reads.
func (f *Faulty) guard(ctx context.Context, op Op, key string, p *[]byte, call func() error) error {
	rule, hit := f.match(op, key)
	if !hit {
		return call()
	}
	cause := rule.Err
	if cause == nil {
		cause = ErrInjected
	}
	switch rule.Kind {
	case FailBefore:
		return fail.Wrap(fail.Unavailable, cause, "%s of object %q", op, key)
	case LostBefore:
		return errUnknown(key, cause)
	case Delay:
		if err := f.clk.Sleep(ctx, rule.Delay); err != nil {
			return fail.Ended(ctx, "the call of the object store")
		}
		return call()
	}
	if err := call(); err != nil {
		return err
	}
	if rule.Kind == FailAfter {
		return errUnknown(key, cause)
	}
	if p != nil && len(*p) > 0 {
		bit := rule.Bit % int64(len(*p)*8)
		*p = slices.Clone(*p)
		(*p)[bit/8] ^= 1 << (bit % 8)
	}
	return nil
}

// Put implements [Store].
func (f *Faulty) Put(ctx context.Context, key string, body []byte, opt PutOptions) (info Info, err error) {
	err = f.guard(ctx, OpPut, key, nil, func() error { info, err = f.inner.Put(ctx, key, body, opt); return err })
	return info, err
}

// Create implements [Store].
func (f *Faulty) Create(ctx context.Context, key string) (w Writer, err error) {
	err = f.guard(ctx, OpCreate, key, nil, func() error { w, err = f.inner.Create(ctx, key); return err })
	if err != nil {
		if w != nil {
			w.Abort()
		}
		return nil, err
	}
	return &faultyWriter{Writer: w, f: f, ctx: ctx, key: key}, nil
}

type faultyWriter struct {
	Writer
	f   *Faulty
	ctx context.Context
	key string
}

func (w *faultyWriter) Commit() (info Info, err error) {
	err = w.f.guard(w.ctx, OpCommit, w.key, nil, func() error { info, err = w.Writer.Commit(); return err })
	if err != nil {
		w.Abort()
	}
	return info, err
}

// Get implements [Store].
func (f *Faulty) Get(ctx context.Context, key string) (p []byte, err error) {
	err = f.guard(ctx, OpGet, key, &p, func() error { p, err = f.inner.Get(ctx, key); return err })
	return p, err
}

// GetRange implements [Store].
func (f *Faulty) GetRange(ctx context.Context, key string, off, n int64) (p []byte, err error) {
	err = f.guard(ctx, OpGetRange, key, &p, func() error { p, err = f.inner.GetRange(ctx, key, off, n); return err })
	return p, err
}

// Open implements [Store].
func (f *Faulty) Open(ctx context.Context, key string) (o Object, err error) {
	err = f.guard(ctx, OpOpen, key, nil, func() error { o, err = f.inner.Open(ctx, key); return err })
	if err != nil {
		if o != nil {
			_ = o.Close()
		}
		return nil, err
	}
	return &faultyObject{Object: o, f: f, key: key}, nil
}

type faultyObject struct {
	Object
	f   *Faulty
	key string
}

func (o *faultyObject) ReadAt(ctx context.Context, p []byte, off int64) error {
	got := p
	err := o.f.guard(ctx, OpReadAt, o.key, &got, func() error { return o.Object.ReadAt(ctx, p, off) })
	copy(p, got)
	return err
}

// Head implements [Store].
func (f *Faulty) Head(ctx context.Context, key string) (info Info, err error) {
	err = f.guard(ctx, OpHead, key, nil, func() error { info, err = f.inner.Head(ctx, key); return err })
	return info, err
}

// List implements [Store].
func (f *Faulty) List(ctx context.Context, prefix, after string) (page []Info, err error) {
	err = f.guard(ctx, OpList, prefix, nil, func() error { page, err = f.inner.List(ctx, prefix, after); return err })
	return page, err
}

// Delete implements [Store]. Each key counts as a call.
func (f *Faulty) Delete(ctx context.Context, keys ...string) error {
	for _, key := range keys {
		if err := f.guard(ctx, OpDelete, key, nil, func() error { return f.inner.Delete(ctx, key) }); err != nil {
			return err
		}
	}
	return nil
}

// URI implements [Store].
func (f *Faulty) URI(key string) string { return f.inner.URI(key) }
