package source

import (
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Record is one record of a stream as JSON gives it.
type Record struct {
	// Values are those of the fields; Given says which members were there.
	Values []vec.Value
	Given  []bool
	// Partition is the member _partition, or -1.
	Partition int32
}

// partitionMember names the partition of a record, and base64Suffix makes of a BINARY field's name the member that holds its bytes in
// base64.
const (
	partitionMember = "_partition"
	base64Suffix    = "_base64"
)

// Record reads a record: a JSON object whose members are fields, by name without
// case. A BINARY field takes the UTF-8 of a string, and of any other value its JSON
// as it stands; with "_base64" behind its name, bytes in base64.
func (x *Extractor) Record(doc []byte) (Record, error) {
	text := string(doc)
	if !utf8.ValidString(text) {
		return Record{}, fail.New(fail.InvalidEncoding, "a record of %s is not valid UTF-8", x.obj.Name)
	}
	if !vec.ValidJSON(text) || !gjson.Parse(text).IsObject() {
		return Record{}, fail.New(fail.InvalidJSON, "a record of %s is not a JSON object: %s", x.obj.Name, clip(text)).
			WithHint("Write it as {\"key\": \"a\", \"value\": …}.")
	}
	r := Record{Values: make([]vec.Value, len(x.obj.Fields)), Given: make([]bool, len(x.obj.Fields)), Partition: -1}
	for i, f := range x.obj.Fields {
		r.Values[i] = vec.Null(f.Type)
	}
	var err error
	gjson.Parse(text).ForEach(func(key, val gjson.Result) bool {
		err = x.member(&r, key.String(), val)
		return err == nil
	})
	return r, err
}

// member reads one member into the record.
func (x *Extractor) member(r *Record, name string, val gjson.Result) error {
	f, n := x.obj.FieldByName(name, false)
	inBase64 := false
	if plain, ok := strings.CutSuffix(name, base64Suffix); ok && f == nil && n == 0 {
		if g, _ := x.obj.FieldByName(plain, false); g != nil && g.Type.Kind == types.Binary {
			f, inBase64 = g, true
		}
	}
	switch {
	case f == nil && n == 0 && name == partitionMember:
		p, err := strconv.ParseUint(val.Raw, 10, 31)
		if err != nil {
			return fail.New(fail.InvalidParameter, "the partition of a record is %s", clip(val.Raw)).WithHint("It is a number from 0.")
		}
		r.Partition = int32(p)
		return nil
	case f == nil:
		return x.noMember(name, n)
	}
	at := x.index[f.Name]
	if r.Given[at] {
		return fail.New(fail.DuplicateColumn, "field %q of %s is given twice", f.Name, x.obj.Name)
	}
	r.Given[at] = true
	var err error
	switch {
	case f.Type.Kind == types.Binary:
		r.Values[at], err = binaryOf(val, f.Type, inBase64)
	case Outside(f.Type):
		if r.Values[at], err = vectorOf(val, f.Type); err == nil {
			err = CheckVector(f, r.Values[at])
		}
	default:
		if r.Values[at], err = valueOf(val, f.Type); err == nil {
			err = CheckLength(f, r.Values[at])
		}
	}
	if err != nil {
		return fieldError(x.obj, f, err)
	}
	return nil
}

func (x *Extractor) noMember(name string, matches int) error {
	if matches > 1 {
		return fail.New(fail.AmbiguousColumn, "member %q matches %d fields of %s", name, matches, x.obj.Name)
	}
	e := fail.New(fail.UndefinedColumn, "%s %s has no field %.60q", x.obj.Kind, x.obj.Name, name)
	if near := fail.Closest(name, x.obj.FieldNames()); near != "" {
		return e.WithHint("Did you mean %q?", near)
	}
	return e.WithHint("Its fields are %s.", strings.Join(x.obj.FieldNames(), ", "))
}

// binaryOf reads bytes.
func binaryOf(r gjson.Result, t types.Type, inBase64 bool) (vec.Value, error) {
	switch {
	case r.Type == gjson.Null:
		return vec.Null(t), nil
	case inBase64:
		b, err := base64.StdEncoding.DecodeString(r.String())
		if r.Type != gjson.String || err != nil {
			return vec.Value{}, fail.New(fail.InvalidText, "%s is not base64", clip(r.Raw)).WithHint("Write the bytes 0 and 255 as \"AP8=\".")
		}
		return vec.Value{Type: t, Str: string(b)}, nil
	case r.Type == gjson.String:
		return vec.Value{Type: t, Str: r.String()}, nil
	}
	return vec.Value{Type: t, Str: r.Raw}, nil
}

// RecordColumns are records as columns, one a field: nil where no record gives it.
// given[f] says, for a field that some give and others do not, which do; nil where
// all do. to are the partitions that records name, nil where none does. Errors name
// the record from 1.
func RecordColumns(obj *schema.Object, docs [][]byte) (cols []*vec.Vector, given [][]bool, to []int32, err error) {
	x := NewExtractor(obj)
	records := make([]Record, len(docs))
	count := make([]int, len(obj.Fields))
	for i, doc := range docs {
		if records[i], err = x.Record(doc); err != nil {
			e := fail.As(err)
			out := fail.New(e.Code, "record %d: %s", i+1, e.Message)
			out.Hint = e.Hint
			return nil, nil, nil, out
		}
		for f, ok := range records[i].Given {
			if ok {
				count[f]++
			}
		}
		if records[i].Partition >= 0 && to == nil {
			to = make([]int32, len(docs))
			for k := range to {
				to[k] = -1
			}
		}
		if to != nil {
			to[i] = records[i].Partition
		}
	}
	cols, given = make([]*vec.Vector, len(obj.Fields)), make([][]bool, len(obj.Fields))
	for f := range obj.Fields {
		if count[f] == 0 {
			continue
		}
		cols[f] = vec.New(obj.Fields[f].Type, len(docs))
		for i := range records {
			cols[f].Append(records[i].Values[f])
		}
		if count[f] < len(docs) {
			given[f] = make([]bool, len(docs))
			for i := range records {
				given[f][i] = records[i].Given[f]
			}
		}
	}
	return cols, given, to, nil
}
