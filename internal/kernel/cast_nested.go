package kernel

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/tidwall/gjson"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// nested fills a list, struct or map result: from one of the same kind, text or
// JSON, a list also from a vector.
func (c *caster) nested() error {
	in := c.in
	switch {
	case in.Type.Kind == c.to.Kind:
		err := c.sameKind(in)
		if err != nil {
			// Perhaps of a value that no row has: look at the rows' own only.
			return c.sameKind(ownElements(in))
		}
		return nil
	case in.Type.Kind == types.Vector && c.to.Kind == types.List, in.Type.Textual():
	default:
		return fail.New(fail.DatatypeMismatch, "cannot cast %s to %s", in.Type, c.to)
	}
	for i := range in.N {
		if in.IsNull(i) {
			c.out.AppendNull()
			continue
		}
		val, err := c.nestedValue(i)
		switch {
		case err == nil:
			c.out.Append(val)
		case c.try:
			c.out.AppendNull()
		default:
			return err
		}
	}
	return nil
}

// ownElements copies a list column without the elements that no row has.
func ownElements(in *vec.Vector) *vec.Vector {
	out := vec.New(in.Type, in.N)
	for i := range in.N {
		if in.IsNull(i) {
			out.AppendNull()
		} else {
			out.AppendRows(in, []int32{int32(i)}, 1)
		}
	}
	return out
}

// sameKind converts the elements, fields or entries of a nested column.
func (c *caster) sameKind(in *vec.Vector) error {
	if c.to.Kind == types.Struct {
		return c.fields(in)
	}
	child, err := Cast(in.Child, *c.to.Elem, c.try)
	if err != nil {
		return err
	}
	out := &vec.Vector{Type: c.to, N: in.N, Valid: in.Valid, Offsets: in.Offsets, Child: child.Flatten()}
	if c.to.Kind == types.Map && !in.Type.Key().Equal(c.to.Key()) {
		if err := out.CheckMaps(); err != nil {
			return err
		}
	}
	*c.out = *out
	return nil
}

// fields converts the fields of structs, matched by [types.MatchFields].
func (c *caster) fields(in *vec.Vector) error {
	at, ok := types.MatchFields(in.Type, c.to)
	if !ok {
		return fail.New(fail.DatatypeMismatch, "cannot cast %s to %s", in.Type, c.to)
	}
	out := &vec.Vector{Type: c.to, N: in.N, Valid: in.Valid}
	for i, f := range c.to.Fields {
		field := vec.Const(f.Type, vec.Null(f.Type), in.N)
		if at[i] >= 0 {
			var err error
			if field, err = Cast(in.Fields[at[i]], f.Type, c.try); err != nil {
				return err
			}
		}
		out.Fields = append(out.Fields, field.Flatten())
	}
	*c.out = *out
	return nil
}

func (c *caster) nestedValue(i int) (vec.Value, error) {
	val := vec.Value{Type: c.to}
	if c.in.Type.Kind != types.Vector {
		return ParseNested(c.in.Strings.At(i), c.to)
	}
	for _, f := range c.in.Value(i).Vec {
		e, err := CastValue(vec.Double(float64(f)), *c.to.Elem, false)
		if err != nil {
			return val, err
		}
		val.List = append(val.List, e)
	}
	return val, nil
}

// appendObject writes a struct's fields or a map's entries as a JSON object.
func appendObject(dst []byte, v vec.Value) []byte {
	dst = append(dst, '{')
	for i, e := range v.List {
		if i > 0 {
			dst = append(dst, ',')
		}
		if v.Type.Kind == types.Map {
			dst = gjson.AppendJSONString(dst, e.List[0].String())
			e = e.List[1]
		} else {
			dst = gjson.AppendJSONString(dst, v.Type.Fields[i].Name)
		}
		dst = AppendJSON(append(dst, ':'), e)
	}
	return append(dst, '}')
}

// ParseNested reads JSON as a list (an array), a struct (an object; absent
// members are NULL, others are left out) or a map (an object, or an array of
// {"key": …, "value": …}); scalars inside are cast to the types of elements.
func ParseNested(s string, t types.Type) (vec.Value, error) {
	out := vec.Value{Type: t}
	r := gjson.Parse(s)
	isMapArray := t.Kind == types.Map && r.IsArray()
	switch {
	case !vec.ValidJSON(s), t.Kind == types.List && !r.IsArray(), t.Kind != types.List && !r.IsObject() && !isMapArray:
		return out, notNested(s, t)
	case t.Kind == types.Struct:
		return parseStruct(r, t)
	case isMapArray:
		return parseEntries(r, t)
	case t.Kind == types.Map:
		return parseMap(r, t)
	}
	for _, e := range r.Array() {
		val, err := parseMember(e, *t.Elem)
		if err != nil {
			return out, err
		}
		out.List = append(out.List, val)
	}
	return out, nil
}

func notNested(s string, t types.Type) error {
	what, how := "list", "array"
	switch t.Kind {
	case types.Struct:
		what, how = "struct", "object"
	case types.Map:
		what, how = "map", "object"
	}
	return fail.New(fail.InvalidText, "%s is not a %s", quote(s), what).WithHint("Write it as a JSON %s.", how)
}

// parseMember converts a JSON value to an element's type; null is NULL, but JSON's
// null where the type is JSON.
func parseMember(r gjson.Result, t types.Type) (vec.Value, error) {
	val := vec.Text(r.String())
	switch {
	case !r.Exists(), r.Type == gjson.Null && t.Kind != types.JSON:
		return vec.Null(t), nil
	case r.Type != gjson.String || t.Kind == types.JSON:
		val = vec.Text(r.Raw)
	}
	return CastValue(val, t, false)
}

func parseStruct(r gjson.Result, t types.Type) (vec.Value, error) {
	out := vec.Value{Type: t, List: make([]vec.Value, len(t.Fields))}
	members := make([]gjson.Result, len(t.Fields))
	exact := make([]bool, len(t.Fields))
	r.ForEach(func(key, val gjson.Result) bool {
		name := key.String()
		if i := t.FieldNamed(name); i >= 0 && (!exact[i] || t.Fields[i].Name == name) {
			members[i], exact[i] = val, t.Fields[i].Name == name
		}
		return true
	})
	for i, f := range t.Fields {
		var err error
		if out.List[i], err = parseMember(members[i], f.Type); err != nil {
			return out, fail.Wrap(fail.CodeOf(err), err, "field %q", f.Name)
		}
	}
	return out, nil
}

func parseMap(r gjson.Result, t types.Type) (vec.Value, error) {
	out := vec.Value{Type: t}
	var err error
	r.ForEach(func(key, val gjson.Result) bool {
		entry := vec.Value{Type: *t.Elem, List: make([]vec.Value, 2)}
		if entry.List[0], err = CastValue(vec.Text(key.String()), t.Key(), false); err == nil {
			entry.List[1], err = parseMember(val, t.Value())
		}
		out.List = append(out.List, entry)
		return err == nil
	})
	if err != nil {
		return out, err
	}
	return out, vec.CheckEntries(out.List)
}

func parseEntries(r gjson.Result, t types.Type) (vec.Value, error) {
	out := vec.Value{Type: t}
	for _, e := range r.Array() {
		if !e.IsObject() {
			return out, notNested(e.Raw, *t.Elem)
		}
		entry, err := parseStruct(e, *t.Elem)
		if err != nil {
			return out, err
		}
		out.List = append(out.List, entry)
	}
	return out, vec.CheckEntries(out.List)
}

// uuidBytes converts between UUID and BINARY.
func (c *caster) uuidBytes() func(int) error {
	switch {
	case c.in.Type.Kind == types.UUID && c.to.Kind == types.Binary:
		return func(i int) error {
			b := vec.UUIDBytes(c.in.Decimals[i])
			c.out.Strings.Set(i, string(b[:]))
			return nil
		}
	case c.in.Type.Kind == types.Binary && c.to.Kind == types.UUID:
		return func(i int) error {
			b := c.in.Strings.Bytes(i)
			if len(b) != 16 {
				return fail.New(fail.InvalidText, "a UUID has 16 bytes, not %d", len(b))
			}
			c.out.Decimals[i] = vec.MakeUUID([16]byte(b))
			return nil
		}
	}
	return nil
}

// ParseUUID reads the text of a UUID, in any case, with or without hyphens and braces.
func ParseUUID(s string) (decimal128.Num, error) {
	n, ok := vec.ParseUUID(strings.TrimSpace(s))
	if !ok {
		return n, invalidText(s, types.Of(types.UUID)).
			WithHint("Write it as 550e8400-e29b-41d4-a716-446655440000.")
	}
	return n, nil
}
