package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/storage/collection"
)

// pinnedPlan is a plan whose parts are read more than once.
type pinnedPlan struct {
	object string
	plan   *loam.ScanPlan
	rows   []string
}

// live is an engine under load, with plans made and read beside it.
type live struct {
	t      *testing.T
	r      reader
	rng    *rand.Rand
	tracks []*track
	kept   []pinnedPlan
	plans  map[loam.ScanTail]int
	tails  int // plans that had a tail part
	parts  int
	again  int
}

// TestLiveUnion makes scan plans while writers write and the node applies and
// merges. In each tail mode the union of the parts is the rows of SELECT at the
// plan's pin, now and when the parts are read again later; and it holds whole
// statements: with tail merge and wait all that was acknowledged before the plan.
func TestLiveUnion(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	clk := hasty{clock.Real()}
	e, err := loam.Open(ctx, loam.Config{Clock: clk, IDs: clock.RandomIDs(clk),
		Collection: collection.Options{ApplyRows: 60, BatchInterval: 200 * time.Millisecond, MaxBatchInterval: 5 * time.Second, MaxSplits: 4, MinFragment: 1, MaxDeleted: 50},
		OnError:    func(task string, err error) { t.Errorf("background task %s: %v", task, err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	l := &live{t: t, r: reader{context.Background(), e.NewSession(loam.SessionConfig{})}, rng: rand.New(rand.NewPCG(seedOf(t), 5)), plans: map[loam.ScanTail]int{}}
	for _, sql := range ddl {
		if _, err := l.r.rows(sql); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for w := range writers {
		tr := &track{}
		l.tracks = append(l.tracks, tr)
		all.Go(func() {
			if err := tr.writes(ctx, e, w, func(statement) { time.Sleep(time.Millisecond) }); err != nil {
				t.Error(err)
			}
		})
	}
	rounds := 150
	if testing.Short() {
		rounds = 40
	}
	for i := 0; i < rounds && !t.Failed(); i++ {
		tail := []loam.ScanTail{loam.TailNone, loam.TailMerge, loam.TailWait}[i%3]
		l.check(objects[i/3%len(objects)], tail)
		l.repeat()
	}
	stop()
	all.Wait()
	statements := 0
	for _, tr := range l.tracks {
		statements += tr.last()
	}
	if l.tails == 0 {
		t.Error("no plan had a tail: the test does not see what it is for")
	}
	t.Logf("%d statements; plans %v with %d parts, %d of them with a tail, %d read again", statements, l.plans, l.parts, l.tails, l.again)
}

// check makes one plan and compares its union with the pinned query.
func (l *live) check(object string, tail loam.ScanTail) {
	l.t.Helper()
	low := make([]int, writers)
	for w, tr := range l.tracks {
		if low[w] = tr.last(); tail == loam.TailNone {
			low[w] = 0
		}
	}
	p, err := l.r.s.ScanPlan(l.r.ctx, loam.ScanRequest{Target: loam.Target{Name: object}, Tail: tail})
	if err != nil {
		l.t.Fatalf("plan of %s with tail %s: %v", object, tail, err)
	}
	l.plans[tail]++
	l.parts += len(p.Parts)
	for _, part := range p.Parts {
		if part.Fragment < 0 {
			l.tails++
		}
	}
	time.Sleep(time.Duration(l.rng.IntN(20)) * time.Millisecond)
	rows, err := l.r.union(p)
	if err != nil {
		l.t.Fatalf("union of %s with tail %s: %v", object, tail, err)
	}
	if d := difference(l.pinned(object, p.Pin, 1), rows); d != "" {
		l.t.Errorf("%s with tail %s: the union differs from SELECT at the pin: %s", object, tail, d)
	}
	if d := difference(l.pinned(object, p.Pin, 1+l.rng.IntN(8)), rows); d != "" {
		l.t.Errorf("%s with tail %s: the union differs from the split SELECT at the pin: %s", object, tail, d)
	}
	if int64(len(rows)) != p.LiveRows {
		l.t.Errorf("%s with tail %s: %d rows, the plan says %d", object, tail, len(rows), p.LiveRows)
	}
	for w, tr := range l.tracks {
		if target(w) != object {
			continue
		}
		mine := slices.DeleteFunc(slices.Clone(rows), func(s string) bool { return !strings.HasPrefix(s, fmt.Sprintf("w%d-", w)) })
		if why := tr.explain(low[w], mine); why != "" {
			l.t.Errorf("%s with tail %s, writer %d: %s", object, tail, w, why)
		}
	}
	l.kept = append(l.kept, pinnedPlan{object, p, rows})
}

// pinned is SELECT at a pin, in at most limit endpoints.
func (l *live) pinned(object string, pin loam.Pin, limit int) []string {
	l.t.Helper()
	cols := "id, n, body, emb"
	if object == objects[tableObject] {
		cols = "id, n, body"
	}
	st, err := l.r.s.Prepare(l.r.ctx, "SELECT "+cols+" FROM "+object, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	pins, err := st.Split(l.r.ctx, pin, limit)
	if err != nil {
		l.t.Fatal(err)
	}
	out := []string{}
	for _, p := range pins {
		res, err := st.ExecutePinned(l.r.ctx, p)
		if err != nil {
			l.t.Fatalf("SELECT from %s at the pin: %v", object, err)
		}
		rows, err := drain(l.r.ctx, res)
		if err != nil {
			l.t.Fatalf("SELECT from %s at the pin: %v", object, err)
		}
		for _, line := range rows {
			out = append(out, renderTexts(line))
		}
	}
	slices.Sort(out)
	return out
}

// repeat reads an older plan again.
func (l *live) repeat() {
	l.t.Helper()
	k := l.kept[l.rng.IntN(len(l.kept))]
	rows, err := l.r.union(k.plan)
	if err != nil {
		l.t.Fatalf("an older plan of %s: %v", k.object, err)
	}
	if d := difference(k.rows, rows); d != "" {
		l.t.Errorf("an older plan of %s, read again: %s", k.object, d)
	}
	l.again++
}
