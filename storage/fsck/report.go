package fsck

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/loamdb/loam/internal/fail"
)

// Report is what a check found. Its JSON is that of loam fsck --json.
type Report struct {
	// Objects and Bytes count what was read and compared.
	Objects int   `json:"objects"`
	Bytes   int64 `json:"bytes"`
	// Checked are the collections, tables and streams of the catalog.
	Checked []Checked `json:"checked"`
	// Damaged are the stored objects that are not what was committed.
	Damaged []Damaged `json:"damaged"`
	// Wrong are rows of the metastore, or manifests, that contradict each other.
	Wrong []Wrong `json:"wrong"`
	// Orphans are stored objects that nothing leads to, such as those of a dropped
	// collection or of a process that was killed. They are no damage.
	Orphans     []Orphan `json:"orphans"`
	OrphanBytes int64    `json:"orphan_bytes"`
	// Log counts the segments and indexes of the log that nothing needs any more
	// and that the server deletes by their age.
	Log LogRest `json:"log"`
	// Unclear counts stored objects that a damaged manifest may lead to, or not.
	Unclear int `json:"unclear"`
	// Repaired is what a repair has done before this was read; nil without one.
	Repaired *Repaired `json:"repaired,omitempty"`
}

// Checked is an entry of the catalog.
type Checked struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"`
	ID       uint64 `json:"id"`
	Versions int    `json:"versions"` // manifests that were read, those of tags too
	Tags     int    `json:"tags"`
	Rows     int64  `json:"rows"`    // live rows of the current version
	Waiting  uint64 `json:"waiting"` // records of the log that are not applied
}

// Problem says what is the matter with an object.
type Problem string

// The problems of an object.
const (
	Missing Problem = "missing"
	// Altered: bytes, size or content are not those that were written.
	Altered Problem = "altered"
	// Unreadable: the store does not give it.
	Unreadable Problem = "unreadable"
)

// Damaged is an object that is not what was committed.
type Damaged struct {
	Key     string   `json:"key"`
	Kind    string   `json:"kind"`
	Problem Problem  `json:"problem"`
	Detail  string   `json:"detail"`
	Needed  []string `json:"needed_by"`
}

// Wrong is a contradiction.
type Wrong struct {
	Where  string `json:"where"`
	Detail string `json:"detail"`
}

// Orphan is an object that nothing leads to.
type Orphan struct {
	Key   string `json:"key"`
	Bytes int64  `json:"bytes"`
	Of    string `json:"of"` // whose it is, by the place where it lies
}

// LogRest is what waits to be trimmed from the log.
type LogRest struct {
	Objects int   `json:"objects"`
	Bytes   int64 `json:"bytes"`
}

// Sound reports whether everything that was committed is there. Orphans and
// what waits to be trimmed are sound.
func (r *Report) Sound() bool { return len(r.Damaged) == 0 && len(r.Wrong) == 0 }

// sort puts the findings in an order that does not depend on how they were found.
func (r *Report) sort() {
	slices.SortFunc(r.Damaged, func(a, b Damaged) int { return cmp.Compare(a.Key, b.Key) })
	slices.SortFunc(r.Wrong, func(a, b Wrong) int {
		return cmp.Or(cmp.Compare(a.Where, b.Where), cmp.Compare(a.Detail, b.Detail))
	})
	slices.SortFunc(r.Orphans, func(a, b Orphan) int { return cmp.Compare(a.Key, b.Key) })
}

// listed bounds the orphans that the text names.
const listed = 20

// Text writes the report for people; the last line sums it up.
func (r *Report) Text(w io.Writer) {
	for _, c := range r.Checked {
		fmt.Fprintf(w, "%-10s %s: %s, %s", c.Kind, c.Name, fail.Count(int(c.Rows), "row"), fail.Count(c.Versions, "version"))
		if c.Tags > 0 {
			fmt.Fprintf(w, ", %s", fail.Count(c.Tags, "tag"))
		}
		if c.Waiting > 0 {
			fmt.Fprintf(w, ", %s waiting in the log", fail.Count(int(c.Waiting), "record"))
		}
		fmt.Fprintln(w)
	}
	for _, d := range r.Damaged {
		fmt.Fprintf(w, "DAMAGED %s %s is %s: %s\n", d.Kind, d.Key, d.Problem, d.Detail)
		for _, n := range d.Needed {
			fmt.Fprintf(w, "        needed by %s\n", n)
		}
	}
	for _, x := range r.Wrong {
		fmt.Fprintf(w, "WRONG   %s: %s\n", x.Where, x.Detail)
	}
	r.rest(w)
	if x := r.Repaired; x != nil {
		for _, l := range x.Left {
			fmt.Fprintf(w, "left    the orphans of %s: %s\n", l.Where, l.Detail)
		}
		fmt.Fprintf(w, "repair  %s (%s) deleted\n", fail.Count(x.Deleted, "orphan"), bytesText(x.DeletedBytes))
	}
	fmt.Fprintf(w, "fsck: %s and %s read; %d damaged, %d wrong, %s (%s)\n", fail.Count(r.Objects, "object"), bytesText(r.Bytes),
		len(r.Damaged), len(r.Wrong), fail.Count(len(r.Orphans), "orphan"), bytesText(r.OrphanBytes))
}

// rest writes what nothing leads to.
func (r *Report) rest(w io.Writer) {
	for i, o := range r.Orphans {
		if i == listed {
			fmt.Fprintf(w, "orphan  and %d more; --json lists all\n", len(r.Orphans)-listed)
			break
		}
		fmt.Fprintf(w, "orphan  %s (%s) of %s\n", o.Key, bytesText(o.Bytes), o.Of)
	}
	if r.Log.Objects > 0 {
		fmt.Fprintf(w, "log     %s (%s) wait to be trimmed\n", fail.Count(r.Log.Objects, "object"), bytesText(r.Log.Bytes))
	}
	if r.Unclear > 0 {
		fmt.Fprintf(w, "unclear %s may belong to a damaged manifest\n", fail.Count(r.Unclear, "object"))
	}
}

// bytesText is a size as people say it.
func bytesText(n int64) string {
	const units = "KMGT"
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	v, u := float64(n), -1
	for v >= 1024 && u < len(units)-1 {
		v, u = v/1024, u+1
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") + " " + units[u:u+1] + "iB"
}
