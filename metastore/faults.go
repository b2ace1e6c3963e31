package metastore

import (
	"context"
	"errors"
	"sync"

	"github.com/loamdb/loam/internal/fail"
)

// FaultKind says what a fault does to a transaction.
type FaultKind uint8

const (
	// LostBefore: the write does not happen and its reply is lost.
	LostBefore FaultKind = iota
	// LostAfter: the write happens and its reply is lost.
	LostAfter
	// Refused: the write does not happen and the error says so.
	Refused
	// Unreadable: reads fail. Op is ignored.
	Unreadable
)

// Fault is a rule for [Faults].
type Fault struct {
	Op   string // the transaction's name, such as "append" or "commit"; empty: any
	Kind FaultKind
	Skip int // matching calls to let pass first
	N    int // calls to hit then; 0: all
}

// Faults injects failures into a store under test. The zero value does nothing.
// All methods are safe for concurrent use.
type Faults struct {
	mu    sync.Mutex // guards the fields below
	rules []*Fault
	hits  int
	pause func(ctx context.Context, op string)
}

// Between sets what is called between the reads of a transaction and its write.
// It may wait, and so lets other nodes come between.
func (f *Faults) Between(pause func(ctx context.Context, op string)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pause = pause
}

// Add puts a rule in force. The first rule that matches a call decides.
func (f *Faults) Add(rule Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if rule.N == 0 {
		rule.N = -1
	}
	f.rules = append(f.rules, &rule)
}

// Clear removes all rules.
func (f *Faults) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = nil
}

// Hits is the number of calls that failed by a rule.
func (f *Faults) Hits() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hits
}

var errInjected = errors.New("injected fault")

// match finds the rule for a call and counts it.
func (f *Faults) match(applies func(*Fault) bool) (FaultKind, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.rules {
		if r.N == 0 || !applies(r) {
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
		return r.Kind, true
	}
	return 0, false
}

func (f *Faults) onRead() error {
	if f == nil {
		return nil
	}
	if _, hit := f.match(func(r *Fault) bool { return r.Kind == Unreadable }); hit {
		return fail.Wrap(fail.Unavailable, errInjected, "metastore read")
	}
	return nil
}

func (f *Faults) onWrite(ctx context.Context, name string, write func() (bool, error)) (bool, error) {
	if f == nil {
		return write()
	}
	f.mu.Lock()
	pause := f.pause
	f.mu.Unlock()
	if pause != nil {
		pause(ctx, name)
	}
	kind, hit := f.match(func(r *Fault) bool { return r.Kind != Unreadable && (r.Op == "" || r.Op == name) })
	switch {
	case !hit:
		return write()
	case kind == Refused:
		return false, fail.Wrap(fail.Unavailable, errInjected, "metastore write")
	case kind == LostAfter:
		if _, err := write(); err != nil {
			return false, err
		}
	}
	return false, &unknownError{errInjected}
}
