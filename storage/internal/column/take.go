package column

import (
	"encoding/binary"
	"math"

	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/types"
	"github.com/loamdb/loam/internal/vec"
)

// Take appends single rows of chunk i, ascending positions in it, to out: a flat
// vector of the column's type. Strings and numbers are read where they lie;
// other types decode the chunk. On an error out is unusable.
func (s *Section) Take(name string, i int, rows []int32, out *vec.Vector) error {
	c, data, err := s.chunk(name, i, false)
	if err != nil {
		return err
	}
	n := s.chunkRows(i)
	for _, r := range rows {
		if r < 0 || int(r) >= n {
			return fail.Bug("row %d of column %q chunk %d, which has %d", r, name, i, n)
		}
	}
	done, err := takeRows(data, c.t, n, rows, out)
	if err != nil {
		return fail.Wrap(fail.Corrupt, err, "column %q chunk %d", name, i)
	}
	if done {
		return nil
	}
	v, err := s.Chunk(name, i)
	if err == nil {
		out.AppendRows(v, rows, len(rows))
	}
	return err
}

// takeRows reads the rows of a chunk of n; done is false, and out as it was, for
// a type that must be decoded whole.
func takeRows(data []byte, t types.Type, n int, rows []int32, out *vec.Vector) (done bool, err error) {
	h, c, err := readHead(data, n)
	if err != nil {
		return false, err
	}
	switch t.Kind {
	case types.Int32, types.Date, types.Int64, types.Timestamp, types.Time:
		err = takeInts(c, h, rows, out)
	case types.Double:
		err = takeDoubles(c, h, rows, out)
	case types.Text, types.Binary, types.JSON, types.Unknown:
		err = takeStrings(c, h, rows, out)
	default:
		return false, nil
	}
	return err == nil, err
}

// grow counts rows that were appended to a flat vector and marks the NULLs among them.
func (h *head) grow(out *vec.Vector, rows []int32) {
	nulls := false
	for _, r := range rows {
		nulls = nulls || !h.valid(int(r))
	}
	base := out.N
	out.N += len(rows)
	if out.Valid == nil && !nulls {
		return
	}
	valid := vec.NewBitmap(out.N, true)
	if out.Valid != nil {
		copy(valid, out.Valid)
		if base&63 != 0 {
			valid[base>>6] |= ^uint64(0) << (base & 63)
		}
	}
	for i, r := range rows {
		if !h.valid(int(r)) {
			valid.Clear(base + i)
		}
	}
	out.Valid = valid
}

func takeInts(c *cursor, h head, rows []int32, out *vec.Vector) error {
	p, err := packedInts(c, h.rows)
	if err != nil {
		return err
	}
	wide := out.Type.Kind != types.Int32 && out.Type.Kind != types.Date
	for _, r := range rows {
		if wide {
			out.Int64s = append(out.Int64s, int64(p.at(int(r))))
		} else {
			out.Int32s = append(out.Int32s, int32(p.at(int(r))))
		}
	}
	h.grow(out, rows)
	return nil
}

func takeDoubles(c *cursor, h head, rows []int32, out *vec.Vector) error {
	b := c.take(8 * h.rows)
	if c.bad {
		return corrupt("values are cut short")
	}
	for _, r := range rows {
		out.Float64s = append(out.Float64s, math.Float64frombits(binary.LittleEndian.Uint64(b[8*r:])))
	}
	h.grow(out, rows)
	return nil
}

func takeStrings(c *cursor, h head, rows []int32, out *vec.Vector) error {
	var err error
	switch h.enc {
	case encDict:
		err = takeDict(c, h, rows, out)
	case encFlat, encZstd:
		var s *stringBlock
		if s, err = readStrings(c, h.rows, h.enc == encZstd); err == nil {
			err = s.some(rows, &out.Strings)
		}
	default:
		err = corrupt("unknown encoding %d", h.enc)
	}
	if err == nil {
		h.grow(out, rows)
	}
	return err
}

func takeDict(c *cursor, h head, rows []int32, out *vec.Vector) error {
	size, codes, err := dictHead(c, h.rows)
	if err != nil {
		return err
	}
	s, err := readStrings(c, size, false)
	if err != nil {
		return err
	}
	one := make([]int32, 1)
	for _, r := range rows {
		code := codes.at(int(r))
		if code >= uint64(size) {
			return corrupt("dictionary code %d of %d", code, size)
		}
		one[0] = int32(code)
		if err := s.some(one, &out.Strings); err != nil {
			return err
		}
	}
	return nil
}
