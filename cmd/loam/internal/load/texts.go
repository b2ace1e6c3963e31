package load

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/cmd/loam/internal/passages"
	"github.com/loamdb/loam/internal/datafile"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// textColumns are the columns of a text's passages. The id is path#chunk: the
// same text gives the same ids, so that a second load replaces the first.
var textColumns = []datafile.Column{
	{Name: "id", Type: types.Of(types.Text)}, {Name: "path", Type: types.Of(types.Text)}, {Name: "heading", Type: types.Of(types.Text)},
	{Name: "chunk", Type: types.Of(types.Int32)}, {Name: "text", Type: types.Of(types.Text)},
}

// maxTextBytes bounds a text file: it is held in memory as a whole.
const maxTextBytes = 256 << 20

// readText splits a text file into one batch; nil when it has no words, or is
// left out: because it is binary, or not UTF-8.
func (l *loader) readText(it *item) (*datafile.Batch, error) {
	if it.size > maxTextBytes {
		return nil, fail.New(fail.TooLarge, "%s has %s; a text has at most %d MiB", it.name, size10(float64(it.size)), maxTextBytes>>20)
	}
	raw, err := os.ReadFile(it.path)
	if err != nil {
		return nil, cannotRead(it.name, err)
	}
	l.status.read.Add(int64(len(raw)))
	why := ""
	switch {
	case bytes.IndexByte(raw[:min(len(raw), 8000)], 0) >= 0:
		why = "binary"
	case !utf8.Valid(raw):
		why = "not UTF-8"
	}
	if why != "" {
		l.leftOut = append(l.leftOut, it.name+" ("+why+")")
		l.counts[it.rel] = math.MaxInt32 // what an earlier load made of it stays
		return nil, nil
	}
	text := strings.TrimPrefix(string(raw), "\ufeff")
	found := passages.Split(it.rel, text, passages.Options{Words: l.opts.Chunk, Overlap: l.opts.Overlap})
	l.counts[it.rel] = len(found)
	return textBatch(it.rel, found), nil
}

func textBatch(rel string, found []passages.Passage) *datafile.Batch {
	b := &datafile.Batch{Columns: textColumns, N: len(found), From: 1, To: int64(len(found)) + 1}
	for _, c := range textColumns {
		b.Cols = append(b.Cols, vec.New(c.Type, len(found)))
	}
	for i, p := range found {
		heading := vec.Text(p.Heading)
		heading.Null = p.Heading == ""
		for col, v := range []vec.Value{vec.Text(rel + "#" + strconv.Itoa(i)), vec.Text(rel), heading, vec.Int32(int32(i)), vec.Text(p.Text)} {
			b.Cols[col].Append(v)
		}
		b.Places = append(b.Places, datafile.Place{Row: int64(i) + 1, Line: int64(p.Line)})
	}
	return b
}

// planTexts is the collection that texts are loaded into.
func (l *loader) planTexts(namespace, name string) (*target, error) {
	analyzer, d := "english", l.opts.design
	if slices.ContainsFunc(l.items, func(it *item) bool { return passages.Code(it.rel) }) {
		analyzer = "standard" // stemming joins names that differ
	}
	t := &target{namespace: namespace, name: name, kind: schema.Collection}
	for _, c := range textColumns {
		col := column{name: c.Name, typ: c.Type}
		if c.Name == "heading" || c.Name == "text" {
			col.fulltext = analyzer
			if a, ok := named(d.fulltext, c.Name); ok && a != "" {
				col.fulltext = a
			}
		}
		t.cols = append(t.cols, col)
	}
	t.cols[0].key, t.cols[0].notNull = 1, true
	for v, spec := range d.vectors {
		if t.find(v) >= 0 {
			return nil, fail.New(fail.DuplicateColumn, "--vector %s: passages have a column of that name", v)
		}
		t.cols = append(t.cols, column{name: v, typ: types.VectorOf(spec.dim)})
	}
	for n := range d.fulltext {
		if n != "heading" && n != "text" {
			return nil, fail.New(fail.UndefinedColumn, "--fulltext %s: passages have the texts heading and text", n)
		}
	}
	if len(d.types) > 0 || len(d.key) > 0 && !slices.Equal(d.key, []string{"id"}) {
		return nil, fail.New(fail.InvalidParameter, "--key and --type do not apply to texts").
			WithHint("Passages have the columns id (the key), path, heading, chunk, text.")
	}
	return t, nil
}

// texts reports whether the load is of texts; it is an error to mix them with data files.
func (l *loader) texts() (bool, error) {
	text, data := "", ""
	for _, it := range l.items {
		if it.text {
			text = it.name
		} else {
			data = it.name
		}
	}
	if text != "" && data != "" {
		return false, fail.New(fail.InvalidParameter, "%s is a text and %s a data file: they have different columns", text, data).
			WithHint("Load them one after the other, or take all as texts: --format text")
	}
	return text != "", nil
}

// sweep deletes passages that a second load leaves over: those behind the new
// end of a text that became shorter, and with prune those of texts that are gone.
func (l *loader) sweep(ctx context.Context) error {
	t := l.target
	if !t.isCollection() || t.find("path") < 0 || t.find("chunk") < 0 {
		return nil
	}
	found, err := l.server.Query(ctx, "SELECT path, max(chunk) FROM "+t.sql()+" WHERE path IS NOT NULL GROUP BY path ORDER BY path")
	if err != nil {
		return err
	}
	var gone []string
	for _, r := range found {
		last, _ := strconv.Atoi(r[1])
		n, loaded := l.counts[r[0]]
		switch {
		case loaded && last >= n:
			if _, err := l.server.Query(ctx, fmt.Sprintf("DELETE FROM %s WHERE path = %s AND chunk >= %d", t.sql(), loam.QuoteText(r[0]), n)); err != nil {
				return err
			}
			l.status.say("%s became shorter: %s deleted", r[0], plural(int64(last-n+1), "passage"))
		case !loaded:
			gone = append(gone, r[0])
		}
	}
	if len(gone) == 0 || !l.opts.Prune {
		return nil
	}
	for part := range slices.Chunk(gone, 200) {
		var names []string
		for _, g := range part {
			names = append(names, loam.QuoteText(g))
		}
		if _, err := l.server.Query(ctx, fmt.Sprintf("DELETE FROM %s WHERE path IN (%s)", t.sql(), strings.Join(names, ", "))); err != nil {
			return err
		}
	}
	l.status.say("%s no longer there: passages deleted", plural(int64(len(gone)), "file"))
	return nil
}
