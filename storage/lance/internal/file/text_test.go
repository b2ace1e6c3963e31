package file

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/cockroachdb/datadriven"

	"github.com/loamdb/loam/storage/lance/internal/pb"
)

// textFile is the file that a text test works on.
type textFile struct {
	bytes []byte
	file  *File
}

// TestText runs testdata/text: files are written from a line a column, their
// pages drawn with every byte, then read, taken from and damaged.
//
//	write [page-rows=N] [page-bytes=N]    one column a line: name type: values
//	read from=N n=N [column=NAME]         rows as JSON
//	take rows=(..) [column=NAME]
//	damage column=N page=N buffer=N at=N byte=0xNN    reads all again
func TestText(t *testing.T) {
	datadriven.Walk(t, "testdata/text", func(t *testing.T, path string) {
		var f textFile
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "write":
				return f.write(t, d)
			case "read":
				var from, n int64
				d.ScanArgs(t, "from", &from)
				d.ScanArgs(t, "n", &n)
				return f.rows(f.file.Read(context.Background(), columnArg(t, d), from, n))
			case "take":
				var rows []uint32
				for _, a := range d.CmdArgs {
					for _, v := range a.Vals {
						if n, err := strconv.ParseUint(v, 10, 32); a.Key == "rows" && err == nil {
							rows = append(rows, uint32(n))
						}
					}
				}
				return f.rows(f.file.Take(context.Background(), columnArg(t, d), rows))
			case "damage":
				return f.damage(t, d)
			}
			d.Fatalf(t, "unknown command %q", d.Cmd)
			return ""
		})
	})
}

func columnArg(t *testing.T, d *datadriven.TestData) []string {
	if !d.HasArg("column") {
		return nil
	}
	var name string
	d.ScanArgs(t, "column", &name)
	return []string{name}
}

func (f *textFile) rows(rec arrow.RecordBatch, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	defer rec.Release()
	b, err := json.Marshal(rec)
	if err != nil {
		return "error: " + err.Error()
	}
	return strings.ReplaceAll(string(b), "},{", "},\n {")
}

var textTypes = map[string]arrow.DataType{
	"utf8": arrow.BinaryTypes.String, "binary": arrow.BinaryTypes.Binary, "large_binary": arrow.BinaryTypes.LargeBinary,
	"int32": arrow.PrimitiveTypes.Int32, "int64": arrow.PrimitiveTypes.Int64, "list": arrow.ListOf(arrow.PrimitiveTypes.Uint32),
	"sparse": sparseType(), "vector2": vectorType(2), "vector3": vectorType(3),
}

func (f *textFile) write(t *testing.T, d *datadriven.TestData) string {
	var fields []arrow.Field
	var cols []arrow.Array
	for _, line := range strings.Split(d.Input, "\n") {
		head, values, _ := strings.Cut(line, ":")
		words := strings.Fields(head)
		typ := textTypes[words[1]]
		if typ == nil {
			d.Fatalf(t, "unknown type %q", words[1])
		}
		fields = append(fields, arrow.Field{Name: words[0], Type: typ, Nullable: len(words) < 3})
		b := array.NewBuilder(memory.DefaultAllocator, typ)
		for _, v := range strings.Fields(values) {
			if err := appendText(b, v); err != nil {
				d.Fatalf(t, "%s: %v", v, err)
			}
		}
		cols = append(cols, b.NewArray())
	}
	var opts WriterOptions
	d.MaybeScanArgs(t, "page-rows", &opts.PageRows)
	d.MaybeScanArgs(t, "page-bytes", &opts.PageBytes)
	schema := arrow.NewSchema(fields, nil)
	var buf bytes.Buffer
	w, err := NewWriter(&buf, schema, opts)
	if err == nil {
		if err = w.Write(array.NewRecordBatch(schema, cols, int64(cols[0].Len()))); err == nil {
			_, err = w.Close()
		}
	}
	if err != nil {
		return "error: " + err.Error()
	}
	f.bytes = buf.Bytes()
	f.file = openBytes(t, f.bytes)
	return f.draw()
}

// appendText appends a value: null, an empty list {}, text ('-' is the empty
// string, a*300 repeats), a number, a vector 1,2, a list {1,2} or a sparse vector {1=0.5,7=1}.
func appendText(b array.Builder, v string) error {
	if v == "null" {
		b.AppendNull()
		return nil
	}
	inner := strings.Trim(v, "{}")
	switch b := b.(type) {
	case *array.ListBuilder:
		b.Append(true)
		for _, item := range strings.FieldsFunc(inner, func(r rune) bool { return r == ',' }) {
			if err := b.ValueBuilder().AppendValueFromString(item); err != nil {
				return err
			}
		}
		return nil
	case *array.FixedSizeListBuilder:
		b.Append(true)
		for _, item := range strings.Split(v, ",") {
			if err := b.ValueBuilder().AppendValueFromString(item); err != nil {
				return err
			}
		}
		return nil
	case *array.StructBuilder:
		b.Append(true)
		keys, values := b.FieldBuilder(0).(*array.ListBuilder), b.FieldBuilder(1).(*array.ListBuilder)
		keys.Append(true)
		values.Append(true)
		for _, item := range strings.FieldsFunc(inner, func(r rune) bool { return r == ',' }) {
			k, x, _ := strings.Cut(item, "=")
			if err := keys.ValueBuilder().AppendValueFromString(k); err != nil {
				return err
			}
			if err := values.ValueBuilder().AppendValueFromString(x); err != nil {
				return err
			}
		}
		return nil
	case *array.BinaryBuilder:
		b.Append([]byte(textValue(v)))
		return nil
	case *array.StringBuilder:
		b.Append(textValue(v))
		return nil
	}
	return b.AppendValueFromString(v)
}

func textValue(v string) string {
	if v == "-" {
		return ""
	}
	if unit, times, ok := strings.Cut(v, "*"); ok {
		n, _ := strconv.Atoi(times)
		return strings.Repeat(unit, n)
	}
	return v
}

// draw prints the file: each page with its layout and bytes.
func (f *textFile) draw() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d rows, %d columns, %d bytes\n", f.file.rows, len(f.file.cols), len(f.bytes))
	for _, c := range f.file.cols {
		for _, p := range c.pages {
			fmt.Fprintf(&b, "%s page %d, rows %d+%d: %s\n", c.leaf.name, p.index, p.first, p.rows, drawLayout(p.layout))
			for i, s := range p.buffers {
				fmt.Fprintf(&b, "  %d: %s\n", i, drawBytes(f.bytes[s.off:s.off+s.size]))
			}
		}
	}
	return b.String()
}

func drawLayout(l pb.PageLayout) string {
	switch {
	case l.MiniBlock != nil:
		m := l.MiniBlock
		values := drawEncoding(m.Value)
		if m.Dictionary != nil {
			values += fmt.Sprintf(" into %d of %s", m.DictionaryItems, drawEncoding(m.Dictionary))
		}
		return fmt.Sprintf("mini-block %s, %d items, layers %v", values, m.Items, m.Layers)
	case l.FullZip != nil:
		z := l.FullZip
		return fmt.Sprintf("full-zip %s, %d bits of levels, layers %v", drawEncoding(z.Value), z.BitsDef, z.Layers)
	}
	return fmt.Sprintf("constant, layers %v", l.Constant.Layers)
}

func drawEncoding(e *pb.Encoding) string {
	out := e.Kind.String()
	if e.Bits > 0 {
		out += fmt.Sprint(" ", e.Bits)
	}
	if e.Items > 0 {
		out += fmt.Sprint(" of ", e.Items)
	}
	if e.Inner != nil {
		out += " (" + drawEncoding(e.Inner) + ")"
	}
	return out
}

// drawBytes prints up to 64 bytes in groups of four.
func drawBytes(p []byte) string {
	var parts []string
	for i := 0; i < min(len(p), 64); i += 4 {
		parts = append(parts, hex.EncodeToString(p[i:min(i+4, len(p))]))
	}
	out := strings.Join(parts, " ")
	if len(p) > 64 {
		out += fmt.Sprintf(" … %d bytes", len(p))
	}
	return out
}

func (f *textFile) damage(t *testing.T, d *datadriven.TestData) string {
	var column, page, buffer, at int
	var value string
	d.ScanArgs(t, "column", &column)
	d.ScanArgs(t, "page", &page)
	d.ScanArgs(t, "buffer", &buffer)
	d.ScanArgs(t, "at", &at)
	d.ScanArgs(t, "byte", &value)
	v, err := strconv.ParseUint(value, 0, 8)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	bad := append([]byte(nil), f.bytes...)
	bad[int(f.file.cols[column].pages[page].buffers[buffer].off)+at] = byte(v)
	if err := readAll(bad); err != nil {
		return "error: " + err.Error()
	}
	return "no error"
}
