package fail

import (
	"math"
	"testing"
)

func TestCount(t *testing.T) {
	for _, c := range [][2]string{
		{Count(0, "column"), "0 columns"},
		{Count(1, "column"), "1 column"},
		{Count(int64(2), "column"), "2 columns"},
		{Count(-1, "row"), "-1 rows"},
		{Count(int64(math.MinInt64), "row"), "-9223372036854775808 rows"},
		{Count(uint64(math.MaxUint64), "byte"), "18446744073709551615 bytes"},
		{Count(1, "entry", "entries"), "1 entry"},
		{Count(3, "entry", "entries"), "3 entries"},
		{Count(1, "value is", "values are") + " given", "1 value is given"},
		{Count(0, "value is", "values are") + " given", "0 values are given"},
	} {
		if c[0] != c[1] {
			t.Errorf("%q, want %q", c[0], c[1])
		}
	}
}
