package source

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/cockroachdb/datadriven"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// TestGolden runs the vectors of both encodings (testdata, docs/formats/source.md):
//
//	fields            declares the object: name TYPE [key] [notnull] [l2]
//	encode            one typed row: name = value; prints _source, and _pk if there is a key
//	parse             one JSON document as users send it; prints _pk, _source, fields
//	patch             a document, then typed values; prints the new document
//	discover          a document a line; prints the fields that they would add
//
// Values are written as Loam keeps them: a timestamp in microseconds, a date in
// days, a decimal unscaled, text as a Go string, binary in hex, lists between |,
// a time in microseconds, the fields of a struct between ;, a map's entries as
// key: value between |.
// What encode writes is read back and must be the same.
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var obj *schema.Object
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out string
			var err error
			switch d.Cmd {
			case "fields":
				obj = parseFields(t, d.Input)
				return ""
			case "encode":
				out, err = encodeRow(t, obj, d.Input)
			case "parse":
				out, err = parseDocument(obj, d.Input)
			case "patch":
				doc, rest, _ := strings.Cut(d.Input, "\n")
				var b []byte
				b, err = NewExtractor(obj).Patch(doc, rowOf(t, obj, rest), 0)
				out = string(b) + "\n"
			case "discover":
				out = discover(obj, d.Input)
			default:
				t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
			}
			if err != nil {
				e := fail.As(err)
				out = fmt.Sprintf("%s: %s\n", e.Code, e.Message)
				if e.Hint != "" {
					out += "hint: " + e.Hint + "\n"
				}
			}
			return out
		})
	})
}

func parseFields(t *testing.T, input string) *schema.Object {
	obj := &schema.Object{Name: "docs", Kind: schema.Collection, Partitions: 1}
	for i, line := range strings.Split(input, "\n") {
		words := strings.Fields(line)
		ty, ok := types.Parse(strings.ReplaceAll(words[1], "_", " "))
		if !ok {
			t.Fatalf("type %q", words[1])
		}
		f := schema.Field{ID: int32(i + 1), Name: words[0], Type: ty}
		if ty.Kind == types.Vector {
			f.Metric = schema.Cosine
		}
		for _, w := range words[2:] {
			switch w {
			case "key":
				obj.Key = append(obj.Key, i)
			case "notnull":
				f.NotNull = true
			default:
				f.Metric = schema.Metric(w)
			}
		}
		obj.Fields = append(obj.Fields, f)
	}
	return obj
}

// rowOf makes one row of typed columns, nil for fields that the input leaves out.
func rowOf(t *testing.T, obj *schema.Object, input string) []*vec.Vector {
	cols := make([]*vec.Vector, len(obj.Fields))
	for line := range strings.SplitSeq(strings.TrimSpace(input), "\n") {
		name, text, _ := strings.Cut(line, " =")
		text = strings.TrimSpace(text)
		f, n := obj.FieldByName(name, true)
		if n != 1 {
			t.Fatalf("no field %q", name)
		}
		col := vec.New(f.Type, 1)
		col.Append(typed(t, f.Type, text))
		for i := range obj.Fields {
			if &obj.Fields[i] == f {
				cols[i] = col
			}
		}
	}
	return cols
}

func typed(t *testing.T, ty types.Type, text string) vec.Value {
	if text == "NULL" {
		return vec.Null(ty)
	}
	v := vec.Value{Type: ty}
	var err error
	switch ty.Kind {
	case types.Boolean:
		v.Bool, err = strconv.ParseBool(text)
	case types.UUID:
		v.Dec, _ = vec.ParseUUID(text)
	case types.Struct:
		for i, e := range strings.Split(text, ";") {
			v.List = append(v.List, typed(t, ty.Fields[i].Type, strings.TrimSpace(e)))
		}
	case types.Map:
		for e := range strings.SplitSeq(text, "|") {
			if key, val, ok := strings.Cut(strings.TrimSpace(e), ": "); ok {
				v.List = append(v.List, vec.Value{Type: *ty.Elem, List: []vec.Value{typed(t, ty.Key(), key), typed(t, ty.Value(), val)}})
			}
		}
	case types.Int32, types.Int64, types.Date, types.Timestamp, types.Time:
		v.Int, err = strconv.ParseInt(text, 10, 64)
	case types.Double:
		v.Float, err = strconv.ParseFloat(text, 64)
	case types.Decimal:
		x, _ := new(big.Int).SetString(text, 10)
		v.Dec = decimal128.FromBigInt(x)
	case types.Text:
		v.Str, err = strconv.Unquote(text)
	case types.JSON:
		v.Str = text
	case types.Binary:
		var b []byte
		b, err = hex.DecodeString(text)
		v.Str = string(b)
	case types.List:
		for e := range strings.SplitSeq(text, "|") {
			if e = strings.TrimSpace(e); e != "" {
				v.List = append(v.List, typed(t, *ty.Elem, e))
			}
		}
	case types.Vector:
		for e := range strings.SplitSeq(text, "|") {
			f, perr := strconv.ParseFloat(strings.TrimSpace(e), 32)
			v.Vec, err = append(v.Vec, float32(f)), perr
		}
	case types.Interval:
		v.Span = vec.Span{Days: 1}
	}
	if err != nil {
		t.Fatalf("%s %q: %v", ty, text, err)
	}
	return v
}

func encodeRow(t *testing.T, obj *schema.Object, input string) (string, error) {
	cols := rowOf(t, obj, input)
	var out strings.Builder
	if len(obj.Key) > 0 {
		key, err := KeyAt(obj, cols, 0)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "_pk     %s\n", key)
	}
	src, err := Append(nil, obj, cols, 0)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(&out, "_source %s\n", src)
	return out.String(), readBack(obj, string(src), cols)
}

// readBack is what the tail and apply do with a source: the values must be those written.
func readBack(obj *schema.Object, src string, cols []*vec.Vector) error {
	back := make([]*vec.Vector, len(obj.Fields))
	for i, f := range obj.Fields {
		back[i] = vec.New(f.Type, 1)
	}
	if err := NewExtractor(obj).Append(src, back); err != nil {
		return fmt.Errorf("what was written cannot be read: %w", err)
	}
	for i, f := range obj.Fields {
		if cols[i] == nil || Outside(f.Type) {
			continue
		}
		want, got := cols[i].Value(0), back[i].Value(0)
		if want.Null != got.Null || want.String() != got.String() || want.Float != got.Float && want.Float == want.Float {
			return fmt.Errorf("%s reads back as %s, not %s", f.Name, got, want)
		}
	}
	return nil
}

func discover(obj *schema.Object, input string) string {
	var docs [][]byte
	for line := range strings.SplitSeq(input, "\n") {
		docs = append(docs, []byte(line))
	}
	out := ""
	for _, f := range NewExtractor(obj).Discover(docs) {
		out += fmt.Sprintf("%s %s\n", f.Name, f.Type)
	}
	return out
}

func parseDocument(obj *schema.Object, input string) (string, error) {
	d, err := NewExtractor(obj).Parse([]byte(input))
	if err != nil {
		return "", err
	}
	back := make([]*vec.Vector, len(obj.Fields))
	for i, f := range obj.Fields {
		if !Outside(f.Type) {
			back[i] = vec.New(f.Type, 1)
		}
	}
	if err := NewExtractor(obj).Append(string(d.Source), back); err != nil {
		return "", err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "_pk     %s\n_source %s\n", d.Key, d.Source)
	for i, f := range obj.Fields {
		v := d.Vectors[i]
		if back[i] != nil {
			v = back[i].Value(0)
		}
		if !v.Null && !obj.IsKey(i) {
			fmt.Fprintf(&out, "%s = %s\n", f.Name, v)
		}
	}
	return out.String(), nil
}
