package file

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/loamdb/loam/internal/fail"
)

// TestNullItems: a null item makes a vector unreadable as floats, unless the vector
// is null; the array keeps it.
func TestNullItems(t *testing.T) {
	field := arrow.Field{Name: "v", Type: vectorType(4)}
	sh, err := shapeOf(field.Type)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		bits  byte
		nulls []bool
		ok    bool
		items int
	}{{0xFF, []bool{false, false}, true, 0}, {0x0F, []bool{false, true}, true, 4}, {0x0F, []bool{false, false}, false, 4}, {0xF7, []bool{false, true}, false, 1}} {
		s := newSink(&leaf{name: "v", path: []node{{kind: nodeLeaf}}, shape: sh}, field, memory.DefaultAllocator)
		// A page without item bits comes first.
		s.values.extend(sh.width)
		s.nodes[0].valid.addValid(1)
		s.addItemBits([]byte{tc.bits}, 0, 8)
		s.values.extend(2 * sh.width)
		for _, null := range tc.nulls {
			if null {
				s.nodes[0].valid.addNull()
			} else {
				s.nodes[0].valid.addValid(1)
			}
		}
		if err := s.checkItems(); (err == nil) != tc.ok || (err != nil && !fail.Is(err, fail.Unsupported)) {
			t.Errorf("%08b %v: %v", tc.bits, tc.nulls, err)
		}
		data, err := s.leafArray(field.Type, s.nodes[0].valid.buffer())
		if err != nil || data.Len() != 3 || data.Children()[0].Len() != 12 || data.Children()[0].NullN() != tc.items {
			t.Errorf("%08b: %v, %v", tc.bits, data, err)
		}
	}
}
