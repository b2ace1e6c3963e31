package datafile

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
)

// TestFiles reads the files of testdata. A command is
//
//	read [name=f.csv] [escaped] [gz|zst] [header=yes|no] [delim=;] [quote=none] [nulls=(a,b)] [names=(a,b)] [to=(TYPE,…)]
//
// and prints what the file is, its columns, its rows and what is wrong. With
// escaped, the input is a Go string a line.
func TestFiles(t *testing.T) {
	datadriven.Walk(t, "testdata/files", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			in, o, to := request(t, d)
			return show(in, o, to)
		})
	})
}

func request(t *testing.T, d *datadriven.TestData) (Input, Options, []string) {
	t.Helper()
	data, name := []byte(d.Input), "f"
	var o Options
	var to []string
	if data != nil && d.Input != "" && !d.HasArg("escaped") {
		data = append(data, '\n')
	}
	for _, a := range d.CmdArgs {
		one := ""
		if len(a.Vals) > 0 {
			one = a.Vals[0]
		}
		switch a.Key {
		case "name":
			name = one
		case "escaped":
			data = nil
			for line := range strings.SplitSeq(d.Input, "\n") {
				text, err := strconv.Unquote(`"` + strings.ReplaceAll(line, `"`, `\"`) + `"`)
				if err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				data = append(data, text...)
			}
		case "gz", "zst":
			data = packed(a.Key, data)
		case "header":
			yes := one == "yes"
			o.Header = &yes
		case "delim":
			o.Delimiter = one[0]
		case "quote":
			o.Quote = NoQuote
		case "nulls":
			o.Nulls = a.Vals
		case "names":
			o.Names = a.Vals
		case "to":
			to = a.Vals
		case "format":
			f, err := ParseFormat(one)
			if err != nil {
				t.Fatal(err)
			}
			o.Format = f
		case "cut":
			n, _ := strconv.Atoi(one)
			data = data[:len(data)-n]
		default:
			t.Fatalf("unknown argument %s", a.Key)
		}
	}
	return Input{Name: name, Reader: bytes.NewReader(data), At: bytes.NewReader(data), Size: int64(len(data))}, o, to
}

func packed(how string, data []byte) []byte {
	var b bytes.Buffer
	if how == "gz" {
		w := gzip.NewWriter(&b)
		_, _ = w.Write(data)
		_ = w.Close()
		return b.Bytes()
	}
	w, _ := zstd.NewWriter(&b)
	_, _ = w.Write(data)
	_ = w.Close()
	return b.Bytes()
}

// show prints a file.
func show(in Input, o Options, to []string) string {
	var b strings.Builder
	r, err := Open(in, o)
	if err != nil {
		return fail.Render(err, "") + "\n"
	}
	defer r.Close()
	fmt.Fprintln(&b, r.Describe())
	s, err := r.Sample(1000)
	if err != nil {
		return b.String() + fail.Render(err, "") + "\n"
	}
	for i, c := range s.Columns {
		fmt.Fprintf(&b, "%s %s", c.Name, c.Type)
		if s.Lengths[i] > 0 && c.Type.Kind != types.Vector {
			fmt.Fprintf(&b, " of %d", s.Lengths[i])
		}
		b.WriteString("; ")
	}
	fmt.Fprintf(&b, "%d rows, all %t\n", s.Rows, s.All)
	for {
		batch, err := r.Next()
		if err != nil {
			return b.String() + fail.Render(err, "") + "\n"
		}
		if batch == nil {
			return b.String()
		}
		showBatch(&b, batch, s.Columns, to)
	}
}

func showBatch(b *strings.Builder, batch *Batch, cols []Column, to []string) {
	bad := batch.Bad
	rows := make([][]string, batch.N)
	for i, col := range batch.Cols {
		t := cols[i].Type
		if i < len(to) {
			t, _ = types.Parse(to[i])
		}
		v, wrong := Convert(col, t)
		for _, w := range wrong {
			bad = append(bad, RowError{Place: batch.Places[w.Row], Column: batch.Columns[i].Name, Value: w.Value, Err: w.Err})
		}
		for row := range batch.N {
			text := v.Value(row).String()
			if v.Type.Kind == types.Text && !v.IsNull(row) {
				text = strconv.Quote(text)
			}
			rows[row] = append(rows[row], text)
		}
	}
	for i, row := range rows {
		fmt.Fprintf(b, "%d:%d: %s\n", batch.Places[i].Row, batch.Places[i].Line, strings.Join(row, " | "))
	}
	for _, e := range bad {
		fmt.Fprintf(b, "bad: %s; value %q\n", e.Error(), e.Value)
	}
}
