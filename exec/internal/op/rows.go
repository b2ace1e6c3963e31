package op

import (
	"math/bits"

	"github.com/loamdb/loam/internal/kernel"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Dense returns c with its selected rows alone. String bytes may be shared with c.
func Dense(c *vec.Chunk) *vec.Chunk {
	if c.Sel == nil {
		return c
	}
	return Pick(c.Cols, c.Sel, c.Seq)
}

// Pick gathers rows of columns into a chunk. String bytes are shared.
func Pick(cols []*vec.Vector, rows []int32, seq uint64) *vec.Chunk {
	out := &vec.Chunk{Cols: make([]*vec.Vector, len(cols)), N: len(rows), Seq: seq}
	for i, col := range cols {
		out.Cols[i] = kernel.Gather(col, rows)
	}
	return out
}

// noRow marks a row that does not exist: its columns are NULL.
const noRow int32 = -1

// pickOuter gathers rows of flat columns; noRow gives NULL.
func pickOuter(cols []*vec.Vector, rows []int32) []*vec.Vector {
	missing := 0
	for _, r := range rows {
		if r == noRow {
			missing++
		}
	}
	out := make([]*vec.Vector, len(cols))
	if missing == len(rows) {
		for i, col := range cols {
			out[i] = vec.Const(col.Type, vec.Null(col.Type), len(rows))
		}
		return out
	}
	safe := rows
	if missing > 0 {
		safe = make([]int32, len(rows))
		for i, r := range rows {
			safe[i] = max(r, 0)
		}
	}
	for i, col := range cols {
		out[i] = kernel.Gather(col, safe)
		if missing > 0 {
			out[i].Valid = ownValid(out[i])
			for k, r := range rows {
				if r == noRow {
					out[i].Valid.Clear(k)
				}
			}
		}
	}
	return out
}

// appendAll appends all rows of src to the flat vector dst; numbers as one block.
func appendAll(dst, src *vec.Vector) {
	if src.Encoding != vec.Flat {
		dst.AppendRows(src, nil, src.N)
		return
	}
	switch dst.Type.Kind {
	case types.Int32, types.Date:
		dst.Int32s = append(dst.Int32s, src.Int32s[:src.N]...)
	case types.Int64, types.Timestamp, types.Time:
		dst.Int64s = append(dst.Int64s, src.Int64s[:src.N]...)
	case types.Double:
		dst.Float64s = append(dst.Float64s, src.Float64s[:src.N]...)
	case types.Decimal, types.UUID:
		dst.Decimals = append(dst.Decimals, src.Decimals[:src.N]...)
	default:
		dst.AppendRows(src, nil, src.N)
		return
	}
	appendValid(dst, src)
	dst.N += src.N
}

// appendValid extends dst's validity by src's, before dst.N counts the new rows.
// Bits behind a bitmap's last row are set.
func appendValid(dst, src *vec.Vector) {
	if dst.Valid == nil && src.Valid == nil {
		return
	}
	if dst.Valid == nil {
		dst.Valid = vec.NewBitmap(dst.N, true)
	}
	for len(dst.Valid)*64 < dst.N+src.N {
		dst.Valid = append(dst.Valid, ^uint64(0))
	}
	if src.Valid == nil {
		return
	}
	for w, word := range src.Valid {
		for null := ^word; null != 0; null &= null - 1 {
			if i := w*64 + bits.TrailingZeros64(null); i < src.N {
				dst.Valid.Clear(dst.N + i)
			}
		}
	}
}

// pickOwn gathers rows of a column for a sink that keeps them: strings and other
// values of variable width are copied, so that they do not hold on to the
// buffers of rows that are not kept.
func pickOwn(col *vec.Vector, rows []int32) *vec.Vector {
	switch col.Type.Kind {
	case types.Boolean, types.Int32, types.Date, types.Int64, types.Timestamp, types.Time, types.Double, types.Decimal, types.UUID, types.Interval, types.Vector:
		if col.Encoding == vec.Flat {
			return kernel.Gather(col, rows)
		}
	}
	out := vec.New(col.Type, len(rows))
	out.AppendRows(col, rows, len(rows))
	return out
}

// ownValid is a bitmap of v's validity that v alone holds.
func ownValid(v *vec.Vector) vec.Bitmap {
	if v.Valid == nil {
		return vec.NewBitmap(v.N, true)
	}
	return v.Valid.Clone()
}

// rowBytes estimates the bytes of one row of the type beside its string bytes.
func rowBytes(t types.Type) int64 {
	switch t.Kind {
	case types.Boolean:
		return 1
	case types.Int32, types.Date:
		return 4
	case types.Int64, types.Timestamp, types.Time, types.Double:
		return 8
	case types.Vector:
		return 4 * int64(t.Dim)
	case types.Sparse:
		return 48
	case types.List, types.Map:
		return 4
	case types.Struct:
		total := int64(0)
		for _, f := range t.Fields {
			total += rowBytes(f.Type)
		}
		return total
	}
	return 16
}

// vectorBytes is the memory that n rows of v take when they are copied to a
// flat vector of their own.
func vectorBytes(v *vec.Vector, sel []int32, n int) int64 {
	total := int64(n)*rowBytes(v.Type) + int64(n)/8 + 8
	switch v.Type.Kind {
	case types.Text, types.Binary, types.JSON, types.Unknown:
		for i := range n {
			s, r := flatBase(v), v.Row(selected(sel, i))
			if l := s.Strings.Views[r].Len; l > vec.InlineLen {
				total += int64(l)
			}
		}
	case types.Sparse:
		for i := range n {
			s, r := flatBase(v), v.Row(selected(sel, i))
			total += 8 * int64(len(s.SparseRows[r].Indices))
		}
	case types.List, types.Map:
		for i := range n {
			s, r := flatBase(v), v.Row(selected(sel, i))
			from, to := int(s.Offsets[r]), int(s.Offsets[r+1])
			total += vectorBytes(s.Child.Slice(from, to), nil, to-from)
		}
	case types.Struct:
		rows := make([]int32, n)
		for i := range rows {
			rows[i] = int32(v.Row(selected(sel, i)))
		}
		for _, f := range flatBase(v).Fields {
			total += vectorBytes(f, rows, n)
		}
	}
	return total
}

func flatBase(v *vec.Vector) *vec.Vector {
	if v.Encoding == vec.Dictionary {
		return v.Dict
	}
	return v
}

func selected(sel []int32, i int) int {
	if sel == nil {
		return i
	}
	return int(sel[i])
}

// chunkBytes is the memory of the selected rows of c as flat columns.
func chunkBytes(c *vec.Chunk) int64 {
	total := int64(0)
	for _, col := range c.Cols {
		total += vectorBytes(col, c.Sel, c.Rows())
	}
	return total
}
