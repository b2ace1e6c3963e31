package file

import (
	"encoding/binary"
	"sync"
)

// FSST symbol tables: eight bytes of header, then the symbols, eight bytes each,
// then their lengths.
const (
	fsstTableSize = 8 + 256*8 + 256
	fsstEscape    = 255
	fsstEnabled   = 1 << 24
)

// fsstTable is a decoded symbol table.
type fsstTable struct {
	// plain: the values were too few to compress and are stored as they are.
	plain   bool
	symbols [256][8]byte
	lengths [256]uint8
}

func parseFsst(b []byte) (*fsstTable, error) {
	if len(b) < fsstTableSize {
		return nil, corrupt("symbol table of %d bytes", len(b))
	}
	info := binary.LittleEndian.Uint64(b)
	t := &fsstTable{plain: info&fsstEnabled == 0}
	if t.plain {
		return t, nil
	}
	n := int(info & 0xFF)
	for i := range n {
		copy(t.symbols[i][:], b[8+8*i:16+8*i])
		t.lengths[i] = b[8+8*n+i]
		if t.lengths[i] < 1 || t.lengths[i] > 8 {
			return nil, corrupt("symbol %d has length %d", i, t.lengths[i])
		}
	}
	return t, nil
}

// decode appends the expanded value to out.
func (t *fsstTable) decode(v, out []byte) ([]byte, error) {
	if t.plain {
		return append(out, v...), nil
	}
	for i := 0; i < len(v); i++ {
		code := v[i]
		if code != fsstEscape {
			if t.lengths[code] == 0 {
				return nil, corrupt("symbol %d is not in the table", code)
			}
			out = append(out, t.symbols[code][:t.lengths[code]]...)
			continue
		}
		if i++; i == len(v) {
			return nil, corrupt("a value ends in an escape")
		}
		out = append(out, v[i])
	}
	return out, nil
}

// symbolTable parses a page's table once.
type symbolTable struct {
	once  sync.Once
	table *fsstTable
	err   error
}

func (s *symbolTable) get(b []byte) (*fsstTable, error) {
	s.once.Do(func() { s.table, s.err = parseFsst(b) })
	return s.table, s.err
}
