package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/fail"
)

// pageRows is how many records a follower reads at once.
const pageRows = 2000

// follower reads one partition of a stream from its oldest record on, and checks that
// offsets are dense, times do not go back, and the records of each producer come in
// the order in which they were sent, none twice.
type follower struct {
	reader
	stream, partition int

	next  uint64
	read  bool // something was
	ts    int64
	last  [producers]struct{ batch, at int } // the next record of each may be this one
	see   func(w, n, i int, offset uint64)   // may be nil
	jumps int                                // over what retention had dropped meanwhile
}

// step reads on and returns the number of records.
func (f *follower) step() (int, error) {
	to, ask := loam.Target{Name: streams[f.stream].name}, loam.RecordRange{Partition: f.partition, From: f.next, Oldest: !f.read, Rows: pageRows, Fields: []string{"w", "n", "i", "body"}}
	run, err := f.s.ReadRecords(f.ctx, to, ask)
	if fail.Is(err, fail.OffsetExpired) && f.stream != keptStream {
		f.jumps++
		ask.Oldest = true
		run, err = f.s.ReadRecords(f.ctx, to, ask)
	}
	if err != nil {
		return 0, fmt.Errorf("partition %d of %s from %d: %w", f.partition, to.Name, f.next, err)
	}
	fresh := ask.Oldest && f.stream != keptStream // where it begins is retention's affair
	for _, c := range run.Chunks {
		for k := range c.Rows() {
			at := c.RowAt(k)
			offset, ts := uint64(c.Cols[1].Value(at).Int), c.Cols[2].Value(at).Int
			w, n, i := int(c.Cols[3].Value(at).Int), int(c.Cols[4].Value(at).Int), int(c.Cols[5].Value(at).Int)
			if body := c.Cols[6].Value(at).Str; body != bodyOf(w, n, i) || w%len(streams) != f.stream {
				return 0, fmt.Errorf("%s has at %d of partition %d %q, as record %d of batch %d of producer %d", to.Name, offset, f.partition, body, i, n, w)
			}
			last := &f.last[w]
			if !fresh && offset != f.next || offset < f.next || ts < f.ts || n < last.batch || n == last.batch && i < last.at {
				return 0, fmt.Errorf("%s has at %d of partition %d record %d of batch %d of producer %d, time %d; it comes after offset %d, record %d of batch %d, time %d",
					to.Name, offset, f.partition, i, n, w, ts, f.next, last.at, last.batch, f.ts)
			}
			f.next, f.ts, last.batch, last.at, fresh = offset+1, ts, n, i+1, false
			if f.see != nil {
				f.see(w, n, i, offset)
			}
		}
	}
	f.next, f.read = max(f.next, run.Next), true
	return run.Rows, nil
}

// whole reads all that a partition has. It calls see with the records of one reading
// alone: once retention comes between, it begins anew.
func (r reader) whole(stream, partition int, see func(w, n, i int, offset uint64), anew func()) (end uint64, err error) {
	for {
		anew()
		f := &follower{reader: r, stream: stream, partition: partition, see: see}
		for n := 1; n > 0 && f.jumps == 0; {
			if n, err = f.step(); err != nil {
				return 0, err
			}
		}
		if f.jumps == 0 {
			return f.next, nil
		}
	}
}

// checkStream reads a whole stream. Of one that keeps everything, each batch that was
// acknowledged is there once, the one under way whole or not at all, and no other.
func (r reader) checkStream(stream int, at []stage) (out []problem, err error) {
	seen := make([]map[int]uint64, producers) // by batch, a bit for each record
	for w := range seen {
		seen[w] = map[int]uint64{}
	}
	for p := range streams[stream].partitions {
		type place struct{ w, n, i int }
		var got []place
		if _, err := r.whole(stream, p, func(w, n, i int, _ uint64) { got = append(got, place{w, n, i}) }, func() { got = nil }); err != nil {
			return nil, err
		}
		for _, g := range got {
			if seen[g.w][g.n]&(1<<g.i) != 0 {
				out = append(out, problem{"duplicated", fmt.Sprintf("record %d of batch %d of producer %d is in %s twice", g.i, g.n, g.w, streams[stream].name)})
			}
			seen[g.w][g.n] |= 1 << g.i
		}
	}
	for w := stream; w < producers; w += len(streams) {
		for n, bits := range seen[w] {
			if n > at[w].Batch || n == at[w].Batch && !at[w].Tried {
				out = append(out, problem{"wrong", fmt.Sprintf("producer %d has not sent batch %d, which is in %s: %b", w, n, streams[stream].name, bits)})
			}
		}
		for n := 0; stream == keptStream && n <= at[w].Batch; n++ {
			all := uint64(1)<<batchSize(w, n) - 1
			if bits := seen[w][n]; bits != all && (n < at[w].Batch || bits != 0) {
				out = append(out, problem{"lost", fmt.Sprintf("of batch %d of producer %d, which has sent %+v, there is %b of %b", n, w, at[w], bits, all)})
			}
		}
	}
	return out, nil
}

// sent is what the parent knows of a producer's batch.
type sent struct {
	tried  time.Time
	placed []loam.Placed
}

// streamKiller follows producers over all rounds.
type streamKiller struct {
	*killer
	stages      []stage
	batches     [][]sent // of each producer
	records     int
	again, late int // batches sent again after a kill, and those of them that were in
	retrying    [producers]bool
}

func (k *streamKiller) hear(word, rest string) {
	var w int
	var duplicate bool
	switch word {
	case "epoch":
		scan(k.t, rest, &w)
		k.stages[w].Epoch, k.stages[w].Sequence = k.stages[w].Epoch+1, 0
	case "try":
		scan(k.t, rest, &w)
		if st := &k.stages[w]; st.Tried {
			k.again++
			k.retrying[w] = true
		} else {
			st.Tried = true
			k.batches[w] = append(k.batches[w], sent{tried: time.Now()})
		}
	case "placed":
		scan(k.t, rest, &w, &duplicate)
		st := &k.stages[w]
		st.Placed = nil // the old ones are in batches
		if err := json.Unmarshal([]byte(rest[strings.IndexAny(rest, "[n"):]), &st.Placed); err != nil {
			k.t.Fatal(err)
		}
		if duplicate && !k.retrying[w] {
			k.t.Errorf("batch %d of producer %d was sent once, and is called a duplicate", st.Batch, w)
		}
		if duplicate {
			k.late++
		}
		k.batches[w][st.Batch].placed = st.Placed
		k.records += batchSize(w, st.Batch)
		st.Batch, st.Sequence, st.Tried, k.retrying[w] = st.Batch+1, st.Sequence+1, false, false
	}
}

// TestQuickStreams kills a process that serves producers of streams, some with a
// retention: each batch is in once, where its answer said, in order.
func TestQuickStreams(t *testing.T) { killStreams(t, 15) }

// TestLongStreams is the same with as many rounds as asked for.
func TestLongStreams(t *testing.T) {
	if *longRounds == 0 {
		t.Skip("run with -rounds 500")
	}
	killStreams(t, *longRounds)
}

func killStreams(t *testing.T, rounds int) {
	k := &streamKiller{killer: newKiller(t), stages: make([]stage, producers), batches: make([][]sent, producers)}
	k.heard = k.hear
	for round := range rounds {
		k.kill(round, order{Dir: k.dir, Producers: k.stages})
	}
	dropped := k.end()
	batches := 0
	for w := range k.stages {
		batches += k.stages[w].Batch
	}
	fmt.Printf("    streams: %d batches with %d records acknowledged, %d sent again after a kill, %d of them were in; %d records dropped by retention; slowest open %s\n",
		batches, k.records, k.again, k.late, dropped, k.tally.slowest.Round(time.Millisecond))
	fmt.Printf("streams: %d rounds, %d lost, %d duplicated\n", rounds, k.tally.lost, k.tally.duplicated)
	if dropped == 0 || k.again == 0 {
		t.Error("retention has dropped nothing, or nothing was sent again: this shows little")
	}
}

// end opens what the last child left and compares it with all that was answered. It
// returns the number of records that retention has dropped.
func (k *streamKiller) end() int {
	ctx := context.Background()
	e, err := loam.Open(ctx, loam.Config{Dir: k.dir})
	if err != nil {
		k.t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	r := reader{ctx, e.NewSession(loam.SessionConfig{})}
	dropped := 0
	for s := range streams {
		problems, err := r.checkStream(s, k.stages)
		if err != nil {
			k.t.Fatal(err)
		}
		for _, p := range problems {
			k.problem(p.kind + " " + p.text)
		}
		dropped += k.answers(r, s)
	}
	return dropped
}

// recordOf is a record by its batch.
type recordOf struct{ w, n int }

// answers compares the answers of a stream's producers with what is there.
func (k *streamKiller) answers(r reader, stream int) (dropped int) {
	name := streams[stream].name
	for p := range streams[stream].partitions {
		var have map[uint64]recordOf
		end, err := r.whole(stream, p, func(w, n, _ int, offset uint64) { have[offset] = recordOf{w, n} }, func() { have = map[uint64]recordOf{} })
		if err != nil {
			k.t.Fatal(err)
		}
		now, oldest := time.Now(), end-uint64(len(have)) // offsets are dense
		dropped += int(oldest)
		if stream == sizedStream && oldest > 0 && len(have) < 1000 {
			k.problem(fmt.Sprintf("lost all but %d records of partition %d of %s, which may have 256 KiB", len(have), p, name))
		}
		for offset, want := range k.acknowledged(stream, p) {
			got, ok := have[offset]
			age := now.Sub(k.batches[want.w][want.n].tried)
			switch {
			case ok && got != want || !ok && offset >= oldest:
				k.problem(fmt.Sprintf("lost record %d of partition %d of %s, acknowledged as of %+v; there is %t, %+v", offset, p, name, want, ok, got))
			case !ok && stream == agedStream && age < agedFor-clockAhead:
				k.problem(fmt.Sprintf("lost record %d of partition %d of %s, which was sent %s ago", offset, p, name, age))
			}
		}
	}
	return dropped
}

// acknowledged are the records of a partition by the offsets that were answered.
func (k *streamKiller) acknowledged(stream, partition int) map[uint64]recordOf {
	out := map[uint64]recordOf{}
	for w := stream; w < producers; w += len(streams) {
		for n, b := range k.batches[w] {
			for _, at := range b.placed {
				for o := at.First; at.Partition == partition && o < at.First+uint64(at.Records); o++ {
					if _, twice := out[o]; twice {
						k.problem(fmt.Sprintf("lost offset %d of partition %d of %s was given to two records", o, partition, streams[stream].name))
					}
					out[o] = recordOf{w, n}
				}
			}
		}
	}
	return out
}
