package rest

import (
	"strconv"

	"github.com/loamdb/loam/flightsql/internal/engine"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Media types of answers.
const (
	mediaJSON   = "application/json"
	mediaNDJSON = "application/x-ndjson"
	mediaCSV    = "text/csv"
	mediaArrow  = "application/vnd.apache.arrow.stream"
	mediaHTML   = "text/html"
)

// ending is what is known when a result has been read.
type ending struct {
	rows      int64
	truncated bool // by the request's limit
	elapsedMS float64
}

// encoder renders one result as text. Every method appends to buf.
type encoder interface {
	media() string
	begin(buf []byte, res *engine.Result) ([]byte, error)
	row(buf []byte, c *vec.Chunk, row int) []byte
	end(buf []byte, res *engine.Result, e ending) []byte
	// broken shows the reader why the connection is about to be cut.
	broken(buf []byte, err error) []byte
}

// table is the JSON answer of a statement:
// {"columns": […], "rows": […], "row_count": …, "query_id": …, "elapsed_ms": …},
// each row an array, or an object.
type table struct {
	objects bool
	names   []string // `"name":` for objects
	any     bool     // a row was written
}

func (*table) media() string { return mediaJSON }

func (t *table) begin(buf []byte, res *engine.Result) ([]byte, error) {
	if t.objects {
		var err error
		if t.names, err = memberNames(res.Columns); err != nil {
			return buf, err
		}
	}
	buf = append(buf, `{"columns":[`...)
	for i, c := range res.Columns {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = appendText(append(buf, `{"name":`...), c.Name)
		buf = appendText(append(buf, `,"type":`...), c.Type.String())
		buf = append(buf, '}')
	}
	return append(buf, `],"rows":[`...), nil
}

func (t *table) row(buf []byte, c *vec.Chunk, row int) []byte {
	if t.any {
		buf = append(buf, ',', '\n')
	}
	t.any = true
	if t.objects {
		return appendObject(buf, t.names, c.Cols, row)
	}
	buf = append(buf, '[')
	for i, col := range c.Cols {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = appendCell(buf, col, row)
	}
	return append(buf, ']')
}

func (t *table) end(buf []byte, res *engine.Result, e ending) []byte {
	buf = strconv.AppendInt(append(buf, `],"row_count":`...), e.rows, 10)
	if e.truncated {
		buf = append(buf, `,"truncated":true`...)
	}
	if res.Affected >= 0 {
		buf = strconv.AppendInt(append(buf, `,"affected":`...), res.Affected, 10)
	}
	if res.Token != nil && res.Token.Incarnation != "" {
		buf = appendText(append(buf, `,"token":`...), res.Token.String())
	}
	if res.Note != "" {
		buf = appendText(append(buf, `,"note":`...), res.Note)
	}
	return appendTail(buf, res, e)
}

func (t *table) broken(buf []byte, err error) []byte {
	return append(append(buf, `],"error":`...), problemBody(statusOf(err), failure(err))...)
}

// appendTail ends an object with what every JSON answer of a query tells.
func appendTail(buf []byte, res *engine.Result, e ending) []byte {
	buf = strconv.AppendInt(append(buf, `,"query_id":`...), res.QueryID, 10)
	buf = strconv.AppendFloat(append(buf, `,"elapsed_ms":`...), e.elapsedMS, 'f', 3, 64)
	return append(buf, "}\n"...)
}

// memberNames are the columns' names as members of an object. Two columns of one
// name cannot both be members.
func memberNames(columns []plan.Column) ([]string, error) {
	names, seen := make([]string, len(columns)), map[string]bool{}
	for i, c := range columns {
		if seen[c.Name] {
			return nil, fail.New(fail.DuplicateColumn, "two columns are called %q: a row cannot be an object", c.Name).
				WithHint("Name them apart with AS, or ask for \"rows\": \"arrays\".")
		}
		seen[c.Name] = true
		names[i] = string(append(appendText(nil, c.Name), ':'))
	}
	return names, nil
}

func appendObject(buf []byte, names []string, cols []*vec.Vector, row int) []byte {
	buf = append(buf, '{')
	for i, col := range cols {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = appendCell(append(buf, names[i]...), col, row)
	}
	return append(buf, '}')
}

// lines is NDJSON: an object a line.
type lines struct{ names []string }

func (*lines) media() string { return mediaNDJSON }

func (l *lines) begin(buf []byte, res *engine.Result) (_ []byte, err error) {
	l.names, err = memberNames(res.Columns)
	return buf, err
}

func (l *lines) row(buf []byte, c *vec.Chunk, row int) []byte {
	return append(appendObject(buf, l.names, c.Cols, row), '\n')
}

func (*lines) end(buf []byte, _ *engine.Result, _ ending) []byte { return buf }

func (*lines) broken(buf []byte, err error) []byte {
	return append(append(append(buf, `{"error":`...), problemBody(statusOf(err), failure(err))...), '}')
}

// sheet is CSV with a line of names: NULL is nothing, an empty text is "". What
// is not a number or text is rendered as in JSON.
type sheet struct{ scratch []byte }

func (*sheet) media() string { return mediaCSV }

func (s *sheet) begin(buf []byte, res *engine.Result) ([]byte, error) {
	for i, c := range res.Columns {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = appendField(buf, []byte(c.Name))
	}
	if len(res.Columns) > 0 {
		buf = append(buf, '\n')
	}
	return buf, nil
}

func (s *sheet) row(buf []byte, c *vec.Chunk, row int) []byte {
	for i, col := range c.Cols {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = s.field(buf, col, row)
	}
	return append(buf, '\n')
}

func (s *sheet) field(buf []byte, col *vec.Vector, i int) []byte {
	if col.IsNull(i) {
		return buf
	}
	at := col.Row(i)
	if col.Encoding == vec.Dictionary {
		return s.field(buf, col.Dict, at)
	}
	if k := col.Type.Kind; k == types.Text || k == types.Unknown {
		return appendField(buf, col.Strings.Bytes(at))
	}
	s.scratch = appendCell(s.scratch[:0], col, i)
	text := s.scratch
	if n := len(text); n > 1 && text[0] == '"' && col.Type.Kind != types.JSON {
		text = text[1 : n-1] // dates and the like need no escapes
	}
	return appendField(buf, text)
}

// appendField quotes a field where its content would be taken for something else.
func appendField(buf, text []byte) []byte {
	plain := len(text) > 0
	for _, c := range text {
		if c == '"' || c == ',' || c == '\n' || c == '\r' {
			plain = false
		}
	}
	if plain {
		return append(buf, text...)
	}
	buf = append(buf, '"')
	for _, c := range text {
		if c == '"' {
			buf = append(buf, '"')
		}
		buf = append(buf, c)
	}
	return append(buf, '"')
}

func (*sheet) end(buf []byte, _ *engine.Result, _ ending) []byte { return buf }

func (*sheet) broken(buf []byte, err error) []byte {
	return append(buf, "error: "+failure(err).Message...)
}
