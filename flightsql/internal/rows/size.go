package rows

import (
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Split cuts a batch into slices of at most limit bytes each, of about the same
// size; a row that is larger stands alone. The caller releases each slice, and
// the batch.
func Split(rec arrow.RecordBatch, limit int64) []arrow.RecordBatch {
	n := int(rec.NumRows())
	all := size(rec, 0, n)
	if n > 0 && all <= limit {
		rec.Retain()
		return []arrow.RecordBatch{rec}
	}
	if count := (all + limit - 1) / limit; count > 0 {
		limit = min(limit, all/count+all/(8*count)) // an eighth more, since rows differ
	}
	var parts []arrow.RecordBatch
	for from := 0; from < n; {
		rest := n - from
		count := sort.Search(rest, func(i int) bool { return size(rec, from, from+i+1) > limit })
		count = max(1, count)
		parts = append(parts, rec.NewSlice(int64(from), int64(from+count)))
		from += count
	}
	return parts
}

// size is the number of body bytes of rows [from, to), without padding.
func size(rec arrow.RecordBatch, from, to int) int64 {
	total := int64(0)
	for _, col := range rec.Columns() {
		total += arrayBytes(col, from, to)
	}
	return total
}

func arrayBytes(arr arrow.Array, from, to int) int64 {
	n := int64(to - from)
	bits := (n + 7) / 8
	if n <= 0 {
		return 0
	}
	switch a := arr.(type) {
	case *array.String:
		return bits + 4*n + int64(a.ValueOffset(to-1)-a.ValueOffset(from)) + int64(a.ValueLen(to-1))
	case *array.Binary:
		return bits + 4*n + int64(a.ValueOffset(to-1)-a.ValueOffset(from)) + int64(a.ValueLen(to-1))
	case *array.Map:
		start, _ := a.ValueOffsets(from)
		_, end := a.ValueOffsets(to - 1)
		return bits + 4*n + arrayBytes(a.ListValues(), int(start), int(end))
	case *array.List:
		start, _ := a.ValueOffsets(from)
		_, end := a.ValueOffsets(to - 1)
		return bits + 4*n + arrayBytes(a.ListValues(), int(start), int(end))
	case *array.FixedSizeList:
		start, _ := a.ValueOffsets(from)
		_, end := a.ValueOffsets(to - 1)
		return bits + arrayBytes(a.ListValues(), int(start), int(end))
	case *array.Struct:
		total := bits
		for i := range a.NumField() {
			total += arrayBytes(a.Field(i), from, to)
		}
		return total
	case *array.Boolean:
		return 2 * bits
	}
	if fixed, ok := arr.DataType().(arrow.FixedWidthDataType); ok {
		return bits + n*int64(fixed.Bytes())
	}
	return bits + 16*n
}

// chunkBytes estimates the Arrow size of a chunk's selected rows.
func chunkBytes(c *vec.Chunk) int {
	n, total := c.Rows(), 0
	for _, col := range c.Cols {
		switch col.Type.Kind {
		case types.Boolean:
			total += n / 8
		case types.Int32, types.Date:
			total += 4 * n
		case types.UUID:
			total += 40 * n
		case types.Decimal, types.Interval:
			total += 16 * n
		case types.Vector:
			total += 4 * n * int(col.Type.Dim)
		case types.Text, types.Binary, types.JSON, types.Unknown:
			total += 4*n + textBytes(c, col)
		case types.Sparse, types.List, types.Struct, types.Map:
			total += 64 * n
		default:
			total += 8 * n
		}
	}
	return total
}

func textBytes(c *vec.Chunk, col *vec.Vector) int {
	values := &col.Strings
	if col.Encoding == vec.Dictionary {
		values = &col.Dict.Strings
	}
	total := 0
	if col.Encoding == vec.Flat && c.Sel == nil {
		for i := range values.Views {
			total += int(values.Views[i].Len)
		}
		return total
	}
	for i := range c.Rows() {
		if row := col.Row(c.RowAt(i)); row < values.Len() {
			total += int(values.Views[row].Len)
		}
	}
	return total
}
