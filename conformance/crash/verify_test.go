package crash

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/types"
)

const binaryKind = types.Binary

// problem is something that must not be.
type problem struct {
	kind string // lost, duplicated, wrong
	text string
}

// verdictOn compares a writer's rows with the two worlds that are allowed, and
// returns the statement up to which the rows go.
func verdictOn(w, acked int, got []string) (int, *problem) {
	before := after(w, acked)
	st := next(w, acked+1, before)
	if slices.Equal(got, before.lines(w)) {
		return acked, nil
	}
	with := st.after.lines(w)
	if slices.Equal(got, with) {
		return acked + 1, nil
	}
	seen := map[string]int{}
	for _, id := range keysOf(got) {
		seen[id]++
	}
	text := fmt.Sprintf("writer %d of %s after statement %d: against it %s; against the next %s",
		w, target(w), acked, difference(before.lines(w), got), difference(with, got))
	for id, n := range seen {
		if n > 1 {
			return acked, &problem{"duplicated", fmt.Sprintf("%s is there %d times; %s", id, n, text)}
		}
	}
	for id := range before {
		if _, stays := st.after[id]; stays && seen[id] == 0 {
			return acked, &problem{"lost", id + " is not there; " + text}
		}
	}
	return acked, &problem{"wrong", text}
}

// verify checks every writer's rows against its acknowledged statements, and
// that every other road shows the same rows. It returns where each writer is.
func (r reader) verify(acked []int) (reached []int, problems []problem, err error) {
	reached = slices.Clone(acked)
	for o, object := range objects {
		all, err := r.written(object, -1)
		if err != nil {
			return nil, nil, err
		}
		for w := o; w < writers; w += len(objects) {
			mine := slices.DeleteFunc(slices.Clone(all), func(l string) bool { return !strings.HasPrefix(l, fmt.Sprintf("w%d-", w)) })
			s, p := verdictOn(w, acked[w], mine)
			if reached[w] = s; p != nil {
				problems = append(problems, *p)
			}
		}
		more, err := r.sameEverywhere(object, all)
		if err != nil {
			return nil, nil, err
		}
		problems = append(problems, more...)
	}
	return reached, problems, nil
}

// sameEverywhere compares counts, searches and scan plans with the rows that
// SELECT gives. Nobody may be writing.
func (r reader) sameEverywhere(object string, all []string) ([]problem, error) {
	var out []problem
	check := func(what string, want, got []string) {
		if d := difference(want, got); d != "" {
			out = append(out, problem{"wrong", object + ": " + what + " differs from SELECT: " + d})
		}
	}
	counts, err := r.rows("SELECT count(*), count(DISTINCT id) FROM " + object)
	if err != nil {
		return nil, err
	}
	n := fmt.Sprint(len(all))
	check("count(*), count(DISTINCT id)", []string{n, n}, counts[0])
	if object != objects[tableObject] {
		if err := r.searches(object, all, check); err != nil {
			return nil, err
		}
	}
	for _, tail := range []loam.ScanTail{loam.TailMerge, loam.TailWait, loam.TailNone} {
		got, err := r.scanned(object, tail) // none comes after wait: all is applied then
		if err != nil {
			return nil, fmt.Errorf("scan plan of %s with tail %s: %w", object, tail, err)
		}
		check("the union of the scan plan with tail "+string(tail), all, got)
	}
	again, err := r.written(object, -1)
	check("SELECT after the apply", all, again)
	return out, err
}

// searches checks that each search finds all that there is to find.
func (r reader) searches(object string, all []string, check func(string, []string, []string)) error {
	ids := keysOf(all)
	found := func(call string) ([]string, error) {
		rows, err := r.rows("SELECT id FROM " + call)
		out := make([]string, 0, len(rows))
		for _, l := range rows {
			out = append(out, l[0])
		}
		slices.Sort(out)
		return out, err
	}
	got, err := found(fmt.Sprintf("vector_search(%s, [1, 2, 3, 4], limit => 100000)", object))
	if err != nil {
		return err
	}
	check("vector_search", ids, got)
	for w := range writers {
		if target(w) != object {
			continue
		}
		mine := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !strings.HasPrefix(id, fmt.Sprintf("w%d-", w)) })
		if got, err = found(fmt.Sprintf("text_search(%s, '%s', limit => 100000)", object, token(w))); err != nil {
			return err
		}
		check("text_search for "+token(w), mine, got)
	}
	return nil
}
