package file

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/loamdb/loam/internal/fail"
)

// sound checks that the buffers of data hold what its lengths say, for a damaged file
// may claim more, and Arrow's arrays believe it.
func sound(data arrow.ArrayData, column string) error {
	bad := func(what string) error {
		return fail.New(fail.Corrupt, "lance: column %q: %s are shorter than its %d values", column, what, data.Len())
	}
	end := data.Offset() + data.Len()
	offsets := hasOffsets(data.DataType())
	for i, spec := range data.DataType().Layout().Buffers {
		if i >= len(data.Buffers()) || data.Buffers()[i] == nil {
			if data.Len() > 0 && spec.Kind == arrow.KindFixedWidth {
				return bad("its buffers")
			}
			continue
		}
		have, want := data.Buffers()[i].Len(), 0
		switch spec.Kind {
		case arrow.KindFixedWidth:
			want = end * spec.ByteWidth
			if offsets && data.Len() > 0 {
				want += spec.ByteWidth
			}
		case arrow.KindBitmap:
			want = (end + 7) / 8
		}
		if have < want {
			return bad("its buffers")
		}
	}
	need := end
	switch t := data.DataType().(type) {
	case *arrow.FixedSizeListType:
		need = end * int(t.Len())
	case *arrow.ListType, *arrow.MapType:
		if need = 0; data.Len() > 0 {
			need = int(int32(binary.LittleEndian.Uint32(data.Buffers()[1].Bytes()[4*end:])))
		}
	case *arrow.LargeListType:
		if need = 0; data.Len() > 0 {
			need = int(int64(binary.LittleEndian.Uint64(data.Buffers()[1].Bytes()[8*end:])))
		}
	}
	for _, c := range data.Children() {
		if c.Len() < need {
			return bad("its items")
		}
		if err := sound(c, column); err != nil {
			return err
		}
	}
	return nil
}

// hasOffsets says that a type has one offset more than values.
func hasOffsets(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.STRING, arrow.BINARY, arrow.LARGE_STRING, arrow.LARGE_BINARY, arrow.LIST, arrow.LARGE_LIST, arrow.MAP:
		return true
	}
	return false
}
