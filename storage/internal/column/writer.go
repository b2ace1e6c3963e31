package column

import (
	"encoding/binary"
	"math"

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

// zone computes the least and greatest value of a chunk for types with a cheap
// order; text zones are whole values up to 64 bytes.
func zone(v *vec.Vector) (lo, hi []byte) {
	switch v.Type.Kind {
	case types.Int32, types.Date:
		return zoneOf(v.Int32s, v.Valid)
	case types.Int64, types.Timestamp, types.Time:
		return zoneOf(v.Int64s, v.Valid)
	case types.Double:
		return doubleZone(v)
	case types.Text:
		return textZone(v)
	}
	return nil, nil
}

func zoneOf[T int32 | int64](vals []T, valid vec.Bitmap) (lo, hi []byte) {
	least, most, ok := span(vals, valid)
	if !ok {
		return nil, nil
	}
	return zoneWord(uint64(int64(least))), zoneWord(uint64(int64(most)))
}

// zoneWord writes a zone bound of a number.
func zoneWord(u uint64) []byte { return binary.LittleEndian.AppendUint64(nil, u) }

func doubleZone(v *vec.Vector) (lo, hi []byte) {
	least, most, ok := 0.0, 0.0, false
	for i, f := range v.Float64s {
		switch {
		case !v.Valid.Get(i):
		case !ok:
			least, most, ok = f, f, true
		default:
			if lessDouble(f, least) {
				least = f
			}
			if lessDouble(most, f) {
				most = f
			}
		}
	}
	if !ok {
		return nil, nil
	}
	return zoneWord(math.Float64bits(least)), zoneWord(math.Float64bits(most))
}

func textZone(v *vec.Vector) (lo, hi []byte) {
	least, most, ok := "", "", false
	for i := range v.N {
		if !v.Valid.Get(i) {
			continue
		}
		s := v.Strings.At(i)
		switch {
		case !ok:
			least, most, ok = s, s, true
		case s < least:
			least = s
		case s > most:
			most = s
		}
	}
	if !ok || len(least) > maxZoneText || len(most) > maxZoneText {
		return nil, nil
	}
	return append([]byte{}, least...), append([]byte{}, most...)
}

// maxZoneText is the longest text that bounds a zone.
const maxZoneText = 64

// Less orders two values of one zoned type; NaN is the greatest double.
func Less(a, b vec.Value) bool {
	switch a.Type.Kind {
	case types.Double:
		return lessDouble(a.Float, b.Float)
	case types.Text:
		return a.Str < b.Str
	}
	return a.Int < b.Int
}

func lessDouble(a, b float64) bool {
	if a != a {
		return false
	}
	return b != b || a < b
}
