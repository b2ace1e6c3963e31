package fsck

import (
	"fmt"
	"maps"
	"slices"
)

// users are the versions and tags that need something, by object.
type users map[uint64]user

type user struct {
	lo, hi uint64 // versions; 0 for none
	tags   []string
}

func (u users) add(id, version uint64, tag string) {
	x := u[id]
	switch {
	case tag != "":
		x.tags = append(x.tags, tag)
	case x.hi == 0:
		x.lo, x.hi = version, version
	default:
		x.lo, x.hi = min(x.lo, version), max(x.hi, version)
	}
	u[id] = x
}

// merge adds all users of v.
func (u users) merge(v users) {
	for id, x := range v {
		if x.hi > 0 {
			u.add(id, x.lo, "")
			u.add(id, x.hi, "")
		}
		for _, t := range x.tags {
			u.add(id, 0, t)
		}
	}
}

// list names the users for a report.
func (u users) list(names map[uint64]string) []string {
	var out []string
	for _, id := range slices.Sorted(maps.Keys(u)) {
		x, name := u[id], names[id]
		switch {
		case x.hi == 0:
		case x.lo == x.hi:
			out = append(out, fmt.Sprintf("%s version %d", name, x.lo))
		default:
			out = append(out, fmt.Sprintf("%s versions %d to %d", name, x.lo, x.hi))
		}
		for _, t := range x.tags {
			out = append(out, tagText(name, t))
		}
	}
	return out
}

func tagText(name, tag string) string { return fmt.Sprintf("%s tag %s", name, tag) }
