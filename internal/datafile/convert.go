package datafile

import (
	"github.com/tidwall/gjson"

	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// CellError is a value that does not convert: its position in the batch, the
// value as text and the reason.
type CellError struct {
	Row   int
	Value string
	Err   error
}

// Convert brings a column of a batch to a type. Values that do not convert are
// NULL in the result and told. Strings of JSON lose their quotes; a quoted empty
// text of CSV is NULL for every type but TEXT and BINARY. The result may share
// the column's memory.
func Convert(col *vec.Vector, to types.Type) (*vec.Vector, []CellError) {
	col = col.Flatten()
	switch {
	case col.Type.Kind == types.Unknown:
		return vec.Const(to, vec.Null(to), col.N).Flatten(), nil
	case col.Type.Kind == types.JSON && (to.Kind == types.Text || to.Kind == types.Binary):
		col = unquoted(col)
	case col.Type.Kind == types.Text && to.Kind != types.Text && to.Kind != types.Binary:
		col = emptyAsNull(col)
	}
	out, err := kernel.Cast(col, to, false)
	if err == nil {
		return out.Flatten(), nil
	}
	return convertRows(col, to)
}

// convertRows finds the rows that fail.
func convertRows(col *vec.Vector, to types.Type) (*vec.Vector, []CellError) {
	out := vec.New(to, col.N)
	var bad []CellError
	for i := range col.N {
		val := col.Value(i)
		conv, err := kernel.CastValue(val, to, false)
		if err != nil {
			bad = append(bad, CellError{Row: i, Value: clip(val.String()), Err: err})
			conv = vec.Null(to)
		}
		out.Append(conv)
	}
	return out, bad
}

// unquoted is the text inside of JSON strings; other values keep their JSON.
func unquoted(col *vec.Vector) *vec.Vector {
	out := vec.New(types.Of(types.Text), col.N)
	for i := range col.N {
		if col.IsNull(i) {
			out.AppendNull()
			continue
		}
		s := col.Strings.At(i)
		if len(s) > 0 && s[0] == '"' {
			s = gjson.Parse(s).Str
		}
		out.Append(vec.Text(s))
	}
	return out
}

func emptyAsNull(col *vec.Vector) *vec.Vector {
	var out *vec.Vector
	for i := range col.N {
		if col.Strings.Views[i].Len > 0 || col.IsNull(i) {
			continue
		}
		if out == nil {
			k := *col
			k.Valid = col.Valid.Clone()
			out = &k
		}
		out.SetNull(i)
	}
	if out == nil {
		return col
	}
	return out
}
