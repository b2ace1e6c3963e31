package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/vec"
)

// reader reads an engine's rows by every road that there is.
type reader struct {
	ctx context.Context
	s   *loam.Session
}

// rows runs a query and returns its rows as texts.
func (r reader) rows(sql string) ([][]string, error) {
	res, err := r.s.Query(r.ctx, sql)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", sql, err)
	}
	out, err := drain(r.ctx, res)
	if err != nil {
		err = fmt.Errorf("%s: %w", sql, err)
	}
	return out, err
}

func drain(ctx context.Context, res *loam.Result) (out [][]string, err error) {
	for {
		c, err := res.Next(ctx)
		if err != nil {
			_ = res.Close()
			return nil, err
		}
		if c == nil {
			return out, res.Close()
		}
		out = append(out, texts(c)...)
	}
}

func texts(c *vec.Chunk) [][]string {
	var out [][]string
	for i := range c.Rows() {
		line := make([]string, len(c.Cols))
		for j, col := range c.Cols {
			if v := col.Value(c.RowAt(i)); v.Type.Kind == binaryKind {
				line[j] = v.Str
			} else {
				line[j] = v.String()
			}
		}
		out = append(out, line)
	}
	return out
}

// written reads the rows of one writer, or with w < 0 of all writers, as
// row.render shows them, sorted, each prefixed by nothing.
func (r reader) written(object string, w int) ([]string, error) {
	sql := "SELECT id, n, body, emb FROM " + object
	if object == objects[tableObject] {
		sql = "SELECT id, n, body FROM " + object
	}
	if w >= 0 {
		sql += fmt.Sprintf(" WHERE w = %d", w)
	}
	rows, err := r.rows(sql)
	out := make([]string, 0, len(rows))
	for _, line := range rows {
		out = append(out, renderTexts(line))
	}
	slices.Sort(out)
	return out, err
}

func renderTexts(line []string) string {
	s := fmt.Sprintf("%s n=%s %s", line[0], line[1], line[2])
	if len(line) > 3 {
		s += " " + line[3]
	}
	return s
}

// scanned is the union of a scan plan's parts, rendered as written does.
func (r reader) scanned(object string, tail loam.ScanTail) ([]string, error) {
	p, err := r.s.ScanPlan(r.ctx, loam.ScanRequest{Target: loam.Target{Name: object}, Tail: tail})
	if err != nil {
		return nil, err
	}
	return r.union(p)
}

// union reads all parts of a plan and checks the live rows that each announced.
func (r reader) union(p *loam.ScanPlan) ([]string, error) {
	out := []string{}
	for _, part := range p.Parts {
		// A part travels inside a ticket as JSON.
		text, err := json.Marshal(part)
		if err != nil {
			return nil, err
		}
		var ticket loam.ScanPart
		if err := json.Unmarshal(text, &ticket); err != nil {
			return nil, err
		}
		res, err := r.s.ScanPart(r.ctx, ticket)
		if err != nil {
			return nil, fmt.Errorf("part %s: %w", text, err)
		}
		rows, err := drain(r.ctx, res)
		if err != nil {
			return nil, fmt.Errorf("part %s: %w", text, err)
		}
		if int64(len(rows)) != part.LiveRows {
			return nil, fmt.Errorf("part %s has %d rows", text, len(rows))
		}
		for _, line := range rows {
			s, err := renderScan(p.Columns, line)
			if err != nil {
				return nil, err
			}
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return out, nil
}

// renderScan shows a row of a scan plan: of a collection, fields come out of _source.
func renderScan(cols []loam.ScanColumn, line []string) (string, error) {
	at := map[string]string{}
	for i, c := range cols {
		at[c.Name] = line[i]
	}
	src, ok := at["_source"]
	if !ok {
		return renderTexts([]string{at["id"], at["n"], at["body"]}), nil
	}
	var d struct {
		ID   string
		N    json.Number
		Body string
	}
	if err := json.Unmarshal([]byte(src), &d); err != nil {
		return "", fmt.Errorf("_source %q: %w", src, err)
	}
	if d.ID != at["_pk"] {
		return "", fmt.Errorf("_source %q under _pk %q", src, at["_pk"])
	}
	return renderTexts([]string{d.ID, d.N.String(), d.Body, at["emb"]}), nil
}

// keysOf are the ids of rendered rows.
func keysOf(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i], _, _ = strings.Cut(l, " ")
	}
	return out
}

// difference says what two sorted lists do not share; empty when they are equal.
func difference(want, got []string) string {
	if slices.Equal(want, got) {
		return ""
	}
	var missing, more []string
	n := map[string]int{}
	for _, l := range want {
		n[l]++
	}
	for _, l := range got {
		n[l]--
	}
	for l, d := range n {
		for ; d > 0; d-- {
			missing = append(missing, l)
		}
		for ; d < 0; d++ {
			more = append(more, l)
		}
	}
	slices.Sort(missing)
	slices.Sort(more)
	return fmt.Sprintf("%d missing %q, %d too many %q", len(missing), head(missing), len(more), head(more))
}

func head(l []string) []string { return l[:min(len(l), 4)] }
