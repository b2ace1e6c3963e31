package binder

import (
	"fmt"
	"strings"

	"github.com/loamdb/loam/internal/expr"
)

// exprKey prints an expression with its column ids: two expressions with one key
// compute the same value. Names never enter it.
func exprKey(e expr.Expr) string {
	var b strings.Builder
	writeKey(&b, e)
	return b.String()
}

func writeKey(b *strings.Builder, e expr.Expr) {
	switch x := e.(type) {
	case *expr.Column:
		fmt.Fprintf(b, "#%d", x.ID)
		return
	case *expr.Const:
		fmt.Fprintf(b, "%s:%s", x.Value.Type, x.String())
		return
	case *expr.Param:
		fmt.Fprintf(b, "$%d:%s", x.Index, x.T)
		return
	case *expr.Call:
		b.WriteString(x.Fn.Name + ":" + x.T.String())
	case *expr.Cast:
		fmt.Fprintf(b, "cast:%s:%t", x.To, x.Try)
	case *expr.Compare:
		b.WriteString(x.Op.String())
	case *expr.Logic:
		fmt.Fprintf(b, "or:%t", x.Or)
	case *expr.IsNull:
		fmt.Fprintf(b, "isnull:%t", x.Negate)
	case *expr.In:
		fmt.Fprintf(b, "in:%t", x.Negate)
	case *expr.Case:
		fmt.Fprintf(b, "case:%d:%t", len(x.Whens), x.Else != nil)
	default:
		fmt.Fprintf(b, "%T", e)
	}
	b.WriteByte('(')
	for _, k := range e.Children() {
		writeKey(b, k)
		b.WriteByte(',')
	}
	b.WriteByte(')')
}
