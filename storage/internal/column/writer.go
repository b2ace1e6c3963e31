package column

import (
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

const (
	magic   = "LCOL"
	version = 0
	// trailer: directory length u32, version u16, reserved u16, magic.
	trailerLen = 12
)

// directory is the JSON at the end of the section.
type directory struct {
	Rows    int         `json:"rows"`
	Columns []columnDir `json:"columns"`
}

type columnDir struct {
	Name   string     `json:"name"`
	Type   string     `json:"type"`
	Chunks []chunkDir `json:"chunks"`
}

type chunkDir struct {
	Off   int64 `json:"off"`
	Len   int64 `json:"len"`
	Nulls int   `json:"nulls"`
	// Zone is the zone map's min and max in the value codec, absent when there is none.
	Min []byte `json:"min,omitempty"`
	Max []byte `json:"max,omitempty"`
}

// Writer builds a section in memory. Not for concurrent use.
type Writer struct {
	buf []byte
	dir directory
}

// NewWriter returns a writer of a section of this many rows.
func NewWriter(rows int) *Writer { return &Writer{dir: directory{Rows: rows}} }

// Add writes one column: a flat vector with all the section's rows.
func (w *Writer) Add(name string, v *vec.Vector) error {
	if v.Encoding != vec.Flat || v.N != w.dir.Rows {
		return fail.Bug("column %s: %d rows in encoding %d, the section has %d", name, v.N, v.Encoding, w.dir.Rows)
	}
	d := columnDir{Name: name, Type: typeName(v.Type)}
	for from := 0; from < v.N; from += vec.ChunkRows {
		part := v.Slice(from, min(from+vec.ChunkRows, v.N))
		off := len(w.buf)
		w.buf = appendChunk(w.buf, part)
		c := chunkDir{Off: int64(off), Len: int64(len(w.buf) - off), Nulls: part.N - part.Valid.Count(part.N)}
		c.Min, c.Max = zone(part)
		d.Chunks = append(d.Chunks, c)
		w.buf = append(w.buf, make([]byte, -len(w.buf)&7)...)
	}
	w.dir.Columns = append(w.dir.Columns, d)
	return nil
}

// Finish returns the section. The writer is used up.
func (w *Writer) Finish() ([]byte, error) { return appendDirectory(w.buf, w.dir) }

// typeName is the type as the directory stores it: the SQL name.
func typeName(t types.Type) string { return t.String() }
