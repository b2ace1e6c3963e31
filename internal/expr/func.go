package expr

import (
	"context"
	"time"

	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Volatility says when a call may be computed once.
type Volatility uint8

// Immutable depends on its arguments alone; Stable on the statement too (now);
// Volatile gives a new answer for each row (random).
const (
	Immutable Volatility = iota
	Stable
	Volatile
)

// Env is what evaluation may know of its statement. It is shared and read-only.
type Env struct {
	Ctx context.Context
	// Now is the statement's time on the metastore's clock.
	Now time.Time
	// Namespace and User answer current_schema() and current_user.
	Namespace, User string
	// Random gives uniformly random numbers to random() and uuid(); it is safe for
	// concurrent use. nil makes these functions an error.
	Random func() uint64
}

// ScalarFunc is a function from rows to rows. It is registered once and shared.
type ScalarFunc struct {
	Name       string
	Volatility Volatility
	// CalledOnNull functions see NULL arguments; for the others a row with a
	// NULL argument is NULL and Eval need not look at validity.
	CalledOnNull bool
	// Eval fills out, a flat vector of n rows made with vec.NewFlat of the result
	// type (string results are Set). Arguments are flat or constant with n rows.
	// A row error (overflow, bad text) is a *fail.Error. It must be safe to call
	// from many goroutines.
	//
	// For a list result out is empty (vec.New) and Eval appends n rows.
	Eval EvalFunc
	// Prepare, when not nil, is told the constant arguments (nil for the others)
	// once and returns an Eval that has used them (a compiled pattern), or nil for
	// none. Its error is not shown: Eval meets the constant again, row by row.
	Prepare func(consts []*vec.Value) (EvalFunc, error)
}

// EvalFunc computes n rows of a scalar function; see ScalarFunc.Eval.
type EvalFunc = func(env *Env, args []*vec.Vector, n int, out *vec.Vector) error

// Accumulator is the state of one aggregate for all groups of one worker.
type Accumulator interface {
	// Grow makes room for groups numbered 0..n-1.
	Grow(n int)
	// Update folds rows into their groups: groups[i] is the group of row rows[i],
	// or of row i with nil rows. args have any encoding.
	Update(groups []uint32, args []*vec.Vector, rows []int32) error
	// Merge folds other's group groups[i], or i with nil groups, into group into[i],
	// for each i in turn. It leaves other as it is and shares nothing with it that a
	// later call changes.
	Merge(other Accumulator, groups, into []uint32) error
	// Finish appends the results of groups [from, from+n) to out. The groups may be
	// folded into and finished again.
	Finish(out *vec.Vector, from, n int) error
}

// AggFunc is an aggregate function.
type AggFunc struct {
	Name string
	// EmptyIsZero functions answer 0 over no rows (count); the others NULL.
	EmptyIsZero bool
	// InOrder functions depend on the order in which rows are folded.
	InOrder bool
	// Sorted functions answer from the order of their first argument's values: they
	// may be called with WITHIN GROUP (ORDER BY that argument), DESC being a last
	// argument true.
	Sorted bool
	// Grows says that the state of a group holds its rows.
	Grows bool
	// New makes an accumulator for arguments of these types.
	New func(args []types.Type, ret types.Type) Accumulator
}

// Resolved is the outcome of resolving a call: the implementation, the types
// that the arguments must be cast to, and the type of the result.
type Resolved struct {
	Scalar *ScalarFunc
	Agg    *AggFunc
	Window *WindowFunc
	Params []types.Type
	Ret    types.Type
}

// Registry resolves names to functions. Implemented by the package functions;
// safe for concurrent use.
type Registry interface {
	// Scalar and Aggregate resolve a call by name (any case) and argument types.
	// Errors: fail.UndefinedFunction with a suggestion when the name is unknown or
	// no overload fits (the message lists the overloads).
	Scalar(name string, args []types.Type) (Resolved, error)
	Aggregate(name string, args []types.Type) (Resolved, error)
	// Window resolves a function that stands with OVER only, as the two above do.
	Window(name string, args []types.Type) (Resolved, error)
	// IsAggregate and IsWindow report whether the name is such a function. A name
	// can be both (first_value): with OVER it is then the window function.
	IsAggregate(name string) bool
	IsWindow(name string) bool
	// Names lists all names with one line of help each, sorted.
	Names() []FuncHelp
}

// FuncHelp describes one overload of a function for SHOW FUNCTIONS and
// docs/functions.md. Of is the name that it is an alias of, or its own. Example
// is a call in SQL, the same for all overloads; that of an aggregate or window
// function reads the sample rows of the package functions.
type FuncHelp struct{ Name, Of, Group, Kind, Signature, Help, Example string }
