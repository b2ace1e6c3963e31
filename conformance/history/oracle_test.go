package history

import (
	"fmt"
	"slices"
	"sort"

	"github.com/anishathalye/porcupine"

	"github.com/loamdb/loam/metastore"
)

// committed notes a commit that counts.
func (w *world) committed(h metastore.Head) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if was, twice := w.commits[h.Version]; twice && !slices.Equal(was, h.Applied) {
		w.wrong = append(w.wrong, fmt.Sprintf("version %d was committed twice, with %v and %v applied", h.Version, was, h.Applied))
	}
	w.commits[h.Version] = slices.Clone(h.Applied)
}

// judge compares what everybody was told with the log. All is over.
func (w *world) judge(ends []uint64) {
	w.denseLog(ends)
	w.fates()
	w.appliedOffsets()
	w.foldedReads()
	w.ownWrites()
}

// denseLog: offsets are dense and unique, and times do not go back (I2).
func (w *world) denseLog(ends []uint64) {
	for p, end := range ends {
		last := int64(0)
		for o := range end {
			r, ok := w.log[p][o]
			if !ok || r.ts < last {
				w.wrong = append(w.wrong, fmt.Sprintf("%s at %d: there %v, time %d after %d", logName(p), o, ok, r.ts, last))
				return
			}
			last = r.ts
		}
		if n := len(w.log[p]); uint64(n) != end {
			w.wrong = append(w.wrong, fmt.Sprintf("%s has %d records, its end is %d", logName(p), n, end))
		}
	}
}

// fates: what was acknowledged is in the log once, where the token says; what was
// refused is not; what is unknown is whole or absent (I1, I9).
func (w *world) fates() {
	places := map[int64]map[int][]uint64{}
	deletes := map[int]int{}
	for p := range w.log {
		for o, r := range w.log[p] {
			if r.number == 0 {
				deletes[p]++
				continue
			}
			if places[r.number] == nil {
				places[r.number] = map[int][]uint64{}
			}
			places[r.number][p] = append(places[r.number][p], o)
		}
	}
	for n, st := range w.writes {
		for p, records := range st.records {
			if records[0].number == 0 {
				w.deleteFate(st, p, records)
				continue
			}
			got := places[n][p]
			slices.Sort(got)
			switch {
			case st.fate == acked && (len(got) != len(records) || got[0] != st.base[p]):
				w.wrong = append(w.wrong, fmt.Sprintf("write %d was acknowledged at %s %d, %d records; the log has it at %v", n, logName(p), st.base[p], len(records), got))
			case st.fate == refused && len(got) > 0:
				w.wrong = append(w.wrong, fmt.Sprintf("write %d was refused, and is in %s at %v", n, logName(p), got))
			case st.fate == unclear && len(got) != 0 && len(got) != len(records):
				w.wrong = append(w.wrong, fmt.Sprintf("write %d of unknown outcome is in %s in part: %v", n, logName(p), got))
			}
		}
		if st.fate == unclear && len(places[n]) != 0 && len(places[n]) != len(st.records) {
			w.wrong = append(w.wrong, fmt.Sprintf("write %d of unknown outcome is in some partitions: %v of %d", n, places[n], len(st.records)))
		}
	}
}

// deleteFate: deletes carry no number; an acknowledged one is where it was told to be.
func (w *world) deleteFate(st *written, p int, records []record) {
	for i, want := range records {
		if r := w.log[p][st.base[p]+uint64(i)]; st.fate == acked && (r.key != want.key || r.number != 0) {
			w.wrong = append(w.wrong, fmt.Sprintf("a delete of %s was acknowledged at %s %d, where the log has %v", want.key, logName(p), st.base[p]+uint64(i), r))
		}
	}
}

// appliedOffsets never go back from one version to the next (I4).
func (w *world) appliedOffsets() {
	versions := make([]uint64, 0, len(w.commits))
	for v := range w.commits {
		versions = append(versions, v)
	}
	slices.Sort(versions)
	for i := 1; i < len(versions); i++ {
		for p, o := range w.commits[versions[i]] {
			if o < w.commits[versions[i-1]][p] {
				w.wrong = append(w.wrong, fmt.Sprintf("version %d has applied %v, version %d had %v", versions[i], w.commits[versions[i]], versions[i-1], w.commits[versions[i-1]]))
			}
		}
	}
}

// fold is what the log up to the bounds says of every key.
func (w *world) fold(bounds []uint64) map[string]row {
	out := map[string]row{}
	for p, end := range bounds {
		for o := range end {
			if r := w.log[p][o]; r.number == 0 {
				delete(out, r.key)
			} else {
				out[r.key] = row{r.number, p, o}
			}
		}
	}
	return out
}

// foldedReads: every read, whatever road its rows came, is the fold of the log up to
// its bounds; and its bounds cut no statement in two.
func (w *world) foldedReads() {
	for _, s := range w.reads {
		if want := w.fold(s.bounds); !equalRows(s.rows, want) {
			w.wrong = append(w.wrong, fmt.Sprintf("%s of %s, version %d at %v: %v, the log says %v", s.what, s.who, s.version, s.bounds, s.rows, want))
			return
		}
	}
	for _, s := range w.reads {
		for n, st := range w.writes {
			if st.fate != acked || s.what == "version read" && len(st.records) == 0 {
				continue
			}
			in, out := 0, 0
			for p, records := range st.records {
				if st.base[p]+uint64(len(records)) <= s.bounds[p] {
					in++
				} else {
					out++
				}
			}
			if in > 0 && out > 0 {
				w.wrong = append(w.wrong, fmt.Sprintf("%s of %s, version %d at %v, sees write %d in some partitions: it is at %v", s.what, s.who, s.version, s.bounds, n, st.base))
				return
			}
		}
	}
}

// ownWrites: a strong read sees all that was acknowledged to anybody before it
// began (I1, I8).
func (w *world) ownWrites() {
	var acks []*written
	for _, st := range w.writes {
		if st.fate == acked {
			acks = append(acks, st)
		}
	}
	sort.Slice(acks, func(i, j int) bool { return acks[i].done < acks[j].done })
	reads := slices.Clone(w.reads)
	sort.SliceStable(reads, func(i, j int) bool { return reads[i].call < reads[j].call })
	least, at := make([]uint64, w.obj.Partitions), 0
	for _, s := range reads {
		for ; at < len(acks) && acks[at].done < s.call; at++ {
			for p, records := range acks[at].records {
				least[p] = max(least[p], acks[at].base[p]+uint64(len(records)))
			}
		}
		for p := range least {
			if s.strong && s.bounds[p] < least[p] {
				w.wrong = append(w.wrong, fmt.Sprintf("%s of %s at %v does not see what was acknowledged before: %v", s.what, s.who, s.bounds, least))
				return
			}
		}
	}
}

// settled are the operations with what the log and the chain of versions tell of
// those whose outcome nobody was told. One that did not happen is no operation. One
// that did happened between its call and the end; an append at its offset. Deletes
// carry no number and stay unknown.
func (w *world) settled() []porcupine.Operation {
	first := map[int64]map[string]int64{} // by write and log: the first offset
	for p := range w.log {
		for o, r := range w.log[p] {
			if r.number == 0 {
				continue
			}
			if first[r.number] == nil {
				first[r.number] = map[string]int64{}
			}
			if at, ok := first[r.number][logName(p)]; !ok || int64(o) < at {
				first[r.number][logName(p)] = int64(o)
			}
		}
	}
	out := make([]porcupine.Operation, 0, len(w.ops))
	for _, x := range w.ops {
		o := x.Input.(op)
		if o.unknown {
			happened, told := w.happened(o, first)
			if told && !happened {
				continue
			}
			if told {
				o.unknown = false
				if o.kind == opAppend {
					o.number = first[o.write][o.part]
				}
			}
		}
		x.Input = o
		out = append(out, x)
	}
	return out
}

// happened says whether an operation of unknown outcome took effect, if that can be told.
func (w *world) happened(o op, first map[int64]map[string]int64) (happened, told bool) {
	switch {
	case o.kind == opCommit:
		return w.landed[o.commit], true
	case o.write == 0:
		return false, false
	}
	for _, records := range w.writes[o.write].records {
		if records[0].number == 0 {
			return false, false
		}
	}
	return len(first[o.write]) > 0, true
}
