package plan

import (
	"fmt"
	"testing"
)

func TestGroupingMarkReadsKeysFromTheLeft(t *testing.T) {
	m := GroupingMark{Keys: []int{0, 2, 1}}
	for set, want := range map[string]int32{"[]": 7, "[0]": 3, "[2]": 5, "[0 1 2]": 0, "[1]": 6} {
		for _, s := range [][]int{{}, {0}, {2}, {0, 1, 2}, {1}} {
			if fmt.Sprint(s) == set && m.Value(s) != want {
				t.Errorf("mark of set %s is %d, not %d", set, m.Value(s), want)
			}
		}
	}
}

func TestCommonKeysAreInEverySet(t *testing.T) {
	groups := make([]NamedExpr, 3)
	for _, c := range []struct {
		sets [][]int
		want string
	}{
		{[][]int{{0, 1}, {0, 2}, {0}}, "[0]"},
		{[][]int{{0, 1}, {}}, "[]"},
		{[][]int{{1, 2}, {1, 2}}, "[1 2]"},
	} {
		n := &GroupingSets{Groups: groups, Sets: c.sets}
		if got := fmt.Sprint(n.Common()); got != c.want {
			t.Errorf("common keys of %v are %s, not %s", c.sets, got, c.want)
		}
	}
}
