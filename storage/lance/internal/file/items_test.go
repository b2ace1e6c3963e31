package file

import (
	"testing"

	"github.com/loamdb/loam/internal/fail"
)

// TestNullItems: a null item makes a vector unreadable, unless the vector is null.
func TestNullItems(t *testing.T) {
	p := &storedPage{col: &column{leaf: &leaf{shape: shape{dim: 4}}}, levels: levelMap{max: 1, visible: 1}}
	for _, tc := range []struct {
		bits byte
		def  []uint16
		code fail.Code
		ok   bool
	}{{0xFF, nil, 0, true}, {0x0F, []uint16{0, 1}, 0, true}, {0x0F, nil, fail.Unsupported, false}, {0xF0, []uint16{0, 1}, fail.Unsupported, false}} {
		err := p.checkItems([]byte{tc.bits}, 2, tc.def)
		if (err == nil) != tc.ok || (err != nil && !fail.Is(err, tc.code)) {
			t.Errorf("%08b %v: %v", tc.bits, tc.def, err)
		}
	}
	if err := p.checkItems(nil, 2, nil); !fail.Is(err, fail.Corrupt) {
		t.Errorf("no bits: %v", err)
	}
}
