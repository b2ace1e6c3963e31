package load

import "sort"

// ranges are row numbers as ascending, disjoint, half-open spans [from, to).
type ranges [][2]int64

// contains reports whether row is in.
func (r ranges) contains(row int64) bool {
	i := sort.Search(len(r), func(i int) bool { return r[i][1] > row })
	return i < len(r) && r[i][0] <= row
}

// add joins a span to the ranges.
func (r ranges) add(from, to int64) ranges {
	if from >= to {
		return r
	}
	i := sort.Search(len(r), func(i int) bool { return r[i][1] >= from })
	j := i
	for ; j < len(r) && r[j][0] <= to; j++ {
		from, to = min(from, r[j][0]), max(to, r[j][1])
	}
	out := append(ranges{}, r[:i]...)
	return append(append(out, [2]int64{from, to}), r[j:]...)
}

// count is the number of rows.
func (r ranges) count() int64 {
	n := int64(0)
	for _, s := range r {
		n += s[1] - s[0]
	}
	return n
}
