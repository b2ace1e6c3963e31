package datafile

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// cellKind is the narrowest type whose value a text is: BOOLEAN for true and
// false, BIGINT, DOUBLE, DATE, TIMESTAMP, else TEXT. Digits behind a zero ("007")
// and numbers that no BIGINT holds stay text: nothing is lost by it.
func cellKind(s string) types.Kind {
	s = strings.TrimSpace(s)
	if s == "" {
		return types.Text
	}
	c := s[0]
	digit := c >= '0' && c <= '9'
	switch {
	case c == 't' || c == 'T' || c == 'f' || c == 'F':
		if strings.EqualFold(s, "true") || strings.EqualFold(s, "false") {
			return types.Boolean
		}
		return types.Text
	case !digit && c != '-' && c != '+' && c != '.':
		return types.Text
	case len(s) >= 10 && digit && s[4] == '-':
		return timeKind(s)
	case c == '0' && len(s) > 1 && s[1] >= '0' && s[1] <= '9', c == '+':
		return types.Text
	}
	if _, err := kernel.ParseInt(s, types.Of(types.Int64)); err == nil {
		return types.Int64
	}
	if !strings.ContainsAny(s, ".eE") || strings.ContainsAny(s[len(s)-1:], "eE") || strings.ContainsAny(s, "nNiI") {
		return types.Text
	}
	if _, err := kernel.ParseDouble(s); err == nil {
		return types.Double
	}
	return types.Text
}

func timeKind(s string) types.Kind {
	if _, err := kernel.ParseDate(s); err == nil && len(s) == 10 {
		return types.Date
	}
	if _, err := kernel.ParseTimestamp(s); err == nil {
		return types.Timestamp
	}
	return types.Text
}

// joinKinds is the type that holds the values of both.
func joinKinds(a, b types.Kind) types.Kind {
	within := func(narrow, wide types.Kind) bool {
		return a == narrow && b == wide || a == wide && b == narrow
	}
	switch {
	case a == types.Unknown || a == b:
		return b
	case b == types.Unknown:
		return a
	case within(types.Int64, types.Double):
		return types.Double
	case within(types.Date, types.Timestamp):
		return types.Timestamp
	}
	return types.Text
}

// inferText is the type of a TEXT column's values, joined with what is known.
func inferText(t types.Type, col *vec.Vector) types.Type {
	k := t.Kind
	for i := 0; i < col.N && k != types.Text; i++ {
		if !col.IsNull(i) && len(col.Strings.At(i)) > 0 {
			k = joinKinds(k, cellKind(col.Strings.At(i)))
		}
	}
	return types.Of(k)
}

// inferJSON is the type of a JSON column's values, joined with what is known:
// strings TEXT, DATE or TIMESTAMP, numbers BIGINT or DOUBLE, arrays of one kind
// lists, everything else and mixed JSON.
func inferJSON(t types.Type, col *vec.Vector) types.Type {
	for i := 0; i < col.N && t.Kind != types.JSON; i++ {
		if !col.IsNull(i) {
			t = joinJSON(t, jsonType(gjson.Parse(col.Strings.At(i))))
		}
	}
	return t
}

func jsonType(v gjson.Result) types.Type {
	switch v.Type {
	case gjson.Null:
		return types.Of(types.Unknown)
	case gjson.String:
		if k := cellKind(v.Str); k == types.Date || k == types.Timestamp {
			return types.Of(k)
		}
		return types.Of(types.Text)
	case gjson.True, gjson.False:
		return types.Of(types.Boolean)
	case gjson.Number:
		if k := cellKind(v.Raw); k == types.Int64 {
			return types.Of(k)
		}
		return types.Of(types.Double)
	}
	if !v.IsArray() {
		return types.Of(types.JSON)
	}
	elem := types.Of(types.Unknown)
	v.ForEach(func(_, e gjson.Result) bool {
		t := jsonType(e)
		if t.Kind == types.Date || t.Kind == types.Timestamp {
			t = types.Of(types.Text)
		}
		elem = joinJSON(elem, t)
		return elem.Kind != types.JSON
	})
	if elem.Kind == types.JSON || elem.Kind == types.List {
		return types.Of(types.JSON)
	}
	return types.ListOf(elem)
}

func joinJSON(a, b types.Type) types.Type {
	if a.Kind == types.List && b.Kind == types.List {
		elem := joinJSON(*a.Elem, *b.Elem)
		if elem.Kind == types.JSON {
			return elem
		}
		return types.ListOf(elem)
	}
	switch {
	case a.Kind == types.Unknown || a.Equal(b):
		return b
	case b.Kind == types.Unknown:
		return a
	}
	textual := func(k types.Kind) bool { return k == types.Text || k == types.Date || k == types.Timestamp }
	if a.Numeric() && b.Numeric() || textual(a.Kind) && textual(b.Kind) {
		return types.Of(joinKinds(a.Kind, b.Kind))
	}
	return types.Of(types.JSON)
}

// commonLength joins the length that all lists of a column have: -1 is none yet, 0 is mixed or no lists.
func commonLength(length int, col *vec.Vector) int {
	for i := 0; i < col.N && length != 0; i++ {
		if col.IsNull(i) {
			continue
		}
		n := 0
		switch col.Type.Kind {
		case types.Vector:
			return int(col.Type.Dim)
		case types.List:
			n = int(col.Offsets[i+1] - col.Offsets[i])
		case types.JSON, types.Text:
			if s := col.Strings.At(i); len(s) > 0 && s[0] == '[' {
				n = int(gjson.Get(s, "#").Int())
			}
		}
		if length >= 0 && n != length {
			return 0
		}
		length = n
	}
	return length
}
