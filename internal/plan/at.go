package plan

import (
	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/schema"
)

// AtKind says by what the state of an object is chosen.
type AtKind uint8

// The kinds, with the type of their value.
const (
	AtVersion   AtKind = iota + 1 // BIGINT: a manifest version, without a tail
	AtTag                         // TEXT: the version that a tag names
	AtToken                       // TEXT: exactly what a consistency token covers, tail included
	AtTimestamp                   // TIMESTAMP: the newest version committed by then, without a tail
)

var atNames = [...]string{"?", "VERSION", "TAG", "TOKEN", "TIMESTAMP"}

// String is the word in SQL.
func (k AtKind) String() string { return atNames[k] }

// At chooses the state of an object that a leaf reads. Value reads no columns and
// is a constant when the plan runs, but for now().
type At struct {
	Kind  AtKind
	Value expr.Expr
	// Offset is where it stands in the statement, for errors.
	Offset int
}

// String is the clause in SQL, "" for nil. Of two that read alike the state is the
// same within one statement.
func (a *At) String() string {
	if a == nil {
		return ""
	}
	return "AT (" + a.Kind.String() + " => " + a.Value.String() + ")"
}

func (a *At) mapped(f func(expr.Expr) expr.Expr) *At {
	if a == nil {
		return nil
	}
	return &At{Kind: a.Kind, Value: f(a.Value), Offset: a.Offset}
}

// object adds the name of a leaf's object and the state of it that is read.
func (a *arguments) object(obj *schema.Object, at *At) {
	a.add(obj.Namespace + "." + obj.Name)
	if at != nil {
		a.add(at.String())
	}
}
