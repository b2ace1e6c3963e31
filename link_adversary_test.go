package loam

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/schema"
	"github.com/loamdb/loam/metastore"
	"github.com/loamdb/loam/storage/object"
)

var (
	adversaryRounds = flag.Int("links", 12, "rounds of TestLinkAdversary")
	adversarySeed   = flag.Uint64("link-seed", 1, "seed of the first round")
)

// control is a way to do it wrong, which the adversary must notice.
type control uint8

const (
	right control = iota
	// unfenced: a batch is committed whoever holds the lease, and wherever the link is.
	unfenced
	// apart: the offsets move in a transaction of their own, after the rows.
	apart
)

const linkTTL = time.Millisecond

// adversary is one round: nodes over one object store and one metastore that
// fail, pause, restart and overtake each other while a link works.
type adversary struct {
	rng     *rand.Rand
	control control
	store   object.Store
	meta    metastore.Store
	faults  *metastore.Faults
	clk     clock.Clock
	nodes   []*advNode
	// nested is how many steps lie inside of each other; calm switches all faults off.
	nested int
	calm   bool

	policy  schema.OnError
	parts   int
	written int // records of the source so far
	kinds   map[int]advKind
	era     int // links made so far
	settled []string

	problems []string
	through  *advNode // the node that statements go through, nil for any

	refused, died, lost, paused, batches int
}

// stopped is the panic that ends a round.
type stopped struct{}

func (a *adversary) problem(format string, args ...any) {
	a.problems = append(a.problems, fmt.Sprintf(format, args...))
}

func (a *adversary) fatal(format string, args ...any) {
	a.problem(format, args...)
	panic(stopped{})
}

type advKind uint8

const (
	advGood advKind = iota
	advFiltered
	advBad
)

func newAdversary(seed uint64, c control) *adversary {
	a := &adversary{rng: rand.New(rand.NewPCG(seed, 6)), control: c, clk: clock.Real(), store: object.NewMem(), faults: &metastore.Faults{},
		kinds: map[int]advKind{}, calm: true}
	a.meta = metastore.NewMem(a.clk, clock.RandomIDs(a.clk), metastore.Options{Faults: a.faults})
	for i := range 3 {
		n := &advNode{a: a, name: fmt.Sprintf("node%d", i)}
		a.nodes = append(a.nodes, n)
	}
	return a
}

// begin opens the nodes and makes source, target and link.
func (a *adversary) begin() {
	for _, n := range a.nodes {
		n.open()
	}
	a.policy = []schema.OnError{schema.DeadLetter, schema.DeadLetter, schema.SkipOnError, schema.FailOnError}[a.rng.IntN(4)]
	a.parts = 1 + a.rng.IntN(3)
	a.sql(fmt.Sprintf("CREATE STREAM src (key TEXT, n INT, body TEXT) WITH (partitions = %d)", a.parts))
	a.makeLink()
}

// sql runs a statement on a node that lives, without faults.
func (a *adversary) sql(text string) [][]string {
	was := a.calm
	a.calm = true
	defer func() { a.calm = was }()
	n := a.alive()
	ctx := context.Background()
	res, err := n.s.Query(ctx, text)
	if err != nil {
		a.fatal("%s: %v", text, err)
	}
	defer func() { _ = res.Close() }()
	var out [][]string
	for {
		c, err := res.Next(ctx)
		if err != nil {
			a.fatal("%s: %v", text, err)
		}
		if c == nil {
			return out
		}
		for i := range c.Rows() {
			var row []string
			for _, col := range c.Cols {
				row = append(row, col.Value(c.RowAt(i)).String())
			}
			out = append(out, row)
		}
	}
}

func (a *adversary) alive() *advNode {
	if a.through != nil && !a.through.dead {
		return a.through
	}
	for _, n := range a.nodes {
		if !n.dead {
			return n
		}
	}
	a.nodes[0].restart()
	return a.nodes[0]
}

func (a *adversary) target() string { return fmt.Sprintf("dst%d", a.era) }
func (a *adversary) link() string   { return fmt.Sprintf("l%d", a.era) }

func (a *adversary) makeLink() {
	a.era++
	a.sql("CREATE TABLE " + a.target() + " (p INT, o BIGINT, n INT, twice INT) WITH (partitions = 2)")
	a.sql(fmt.Sprintf("CREATE LINK %s FROM STREAM src INTO TABLE %s TRANSFORM (SELECT _ingest_partition AS p, _ingest_offset AS o, n, CAST(body AS INT) * 2 AS twice WHERE n %% 5 <> 3) WITH (on_error = '%s', batch_bytes = '%d', batch_interval = '10ms')",
		a.link(), a.target(), a.policy, 40+a.rng.IntN(400)))
}

// write adds records to the source: rows, records that the filter leaves out, and
// bad ones, often as the last.
func (a *adversary) write() {
	n := 1 + a.rng.IntN(12)
	only := a.rng.IntN(6) == 0 // a batch of which nothing is left
	var rows []string
	for i := range n {
		id := a.written + i
		body, kind := fmt.Sprint(id), advGood
		switch {
		case id%5 == 3:
			kind, body = advFiltered, "not even a number"
		case only, a.rng.IntN(8) == 0, i == n-1 && a.rng.IntN(3) == 0:
			kind, body = advBad, []string{"x", "2000000000"}[a.rng.IntN(2)]
		}
		a.kinds[id] = kind
		rows = append(rows, fmt.Sprintf("('k%d', %d, '%s')", a.rng.IntN(50), id, body))
	}
	a.sql("INSERT INTO src VALUES " + strings.Join(rows, ", "))
	a.written += n
}

func (a *adversary) step() {
	n := a.nodes[a.rng.IntN(len(a.nodes))]
	switch k := a.rng.IntN(20); {
	case k < 5:
		a.write()
	case k < 14:
		if n.dead {
			n.restart()
		}
		a.calm = false
		if a.rng.IntN(3) == 0 {
			a.faults.Add(metastore.Fault{Kind: []metastore.FaultKind{metastore.LostBefore, metastore.LostAfter, metastore.Refused}[a.rng.IntN(3)], Skip: a.rng.IntN(6), N: 1})
		}
		if a.rng.IntN(4) == 0 {
			n.disk.Add(object.Fault{Kind: []object.FaultKind{object.FailBefore, object.FailAfter, object.LostBefore}[a.rng.IntN(3)], Skip: a.rng.IntN(4), N: 1 + a.rng.IntN(2)})
		}
		n.work()
		a.peace()
	case k < 15:
		n.restart()
	case k < 16:
		a.apply(n)
	case k < 17:
		a.sql("PAUSE LINK IF EXISTS " + a.link())
		target := a.target()
		before := a.sql("SELECT count(*) FROM " + target)
		a.calm = false
		n.work()
		a.peace()
		if after := a.sql("SELECT count(*) FROM " + target); after[0][0] != before[0][0] {
			a.problem("a paused link wrote")
		}
		a.sql("RESUME LINK " + a.link())
	case k < 18 && a.rng.IntN(4) == 0:
		a.replace()
	default:
		a.nudge()
	}
}

// peace ends all faults, but not the nodes' death.
func (a *adversary) peace() {
	a.calm = true
	a.faults.Clear()
	for _, n := range a.nodes {
		if !n.dead {
			n.disk.Clear()
		}
	}
}

func (a *adversary) apply(n *advNode) {
	if n.dead {
		return
	}
	for _, name := range []string{a.target(), "src"} {
		obj, err := n.e.lookup(context.Background(), "public", name)
		if err != nil {
			a.fatal("%v", err)
		}
		c, err := n.e.byID(context.Background(), obj.ID)
		if err == nil {
			err = c.Apply(context.Background(), nil)
		}
		if err != nil && !fail.Is(err, fail.Conflict) {
			a.fatal("apply %s: %v", name, err)
		}
	}
}

// replace drops the link and makes another, into a target of its own, while a
// batch of the old one is on its way: that batch is refused.
func (a *adversary) replace() {
	old, target := a.link(), a.target()
	a.sql("DROP LINK " + old)
	a.makeLink()
	rows := a.sql("SELECT p, o FROM " + target + " ORDER BY p, o")
	a.once(target, rows)
	a.settled = append(a.settled, fmt.Sprintf("%s %d", target, len(rows)))
}

// nudge resumes a link that failed: under fail, by letting it skip the record, for
// one moment.
func (a *adversary) nudge() {
	rows := a.sql("SELECT state, error_partition, error_offset FROM system.links")
	if len(rows) == 0 || rows[0][0] != "failed" {
		return
	}
	if a.policy != schema.FailOnError {
		a.fatal("the link failed under %s: %q", a.policy, a.sql("SELECT error FROM system.links"))
	}
	bad := a.sql(fmt.Sprintf("SELECT n FROM src WHERE _ingest_partition = %s AND _ingest_offset = %s", rows[0][1], rows[0][2]))
	var id int
	if _, err := fmt.Sscan(bad[0][0], &id); err != nil || a.kinds[id] != advBad {
		a.fatal("the link failed at record %s, which is fine", bad[0][0])
	}
	a.sql("ALTER LINK " + a.link() + " SET (on_error = skip)")
	a.sql("RESUME LINK " + a.link())
	n := a.alive()
	n.work()
	a.sql("ALTER LINK " + a.link() + " SET (on_error = fail)")
}

// once checks that no record has two rows.
func (a *adversary) once(table string, rows [][]string) {
	for i := 1; i < len(rows); i++ {
		if slices.Equal(rows[i][:2], rows[i-1][:2]) {
			a.problem("record %v has two rows in %s", rows[i], table)
			return
		}
	}
}

// finish lets the link come to its end in peace and compares.
func (a *adversary) finish() {
	a.peace()
	for _, n := range a.nodes {
		n.restart()
	}
	for try := 0; ; try++ {
		time.Sleep(2 * linkTTL)
		a.alive().work()
		a.nudge()
		rows := a.sql("SELECT lag_records, state FROM system.links")
		if rows[0][0] == "0" && rows[0][1] == "running" {
			break
		}
		if try > 2000 {
			a.fatal("the link does not come to an end: %q", a.sql("SELECT state, lag_records, offsets, error FROM system.links"))
		}
	}
	if a.rng.IntN(2) == 0 {
		a.apply(a.alive())
	}
	a.compare()
	for _, s := range a.settled {
		name, n, _ := strings.Cut(s, " ")
		if got := a.sql("SELECT count(*) FROM " + name); got[0][0] != n {
			a.problem("the link into %s wrote after it was dropped: %s rows, had %s", name, got[0][0], n)
		}
	}
}

// compare holds target, dead letters and counts against the source.
func (a *adversary) compare() {
	want := map[advKind]int{}
	places := map[string]advKind{}
	for _, r := range a.sql("SELECT _ingest_partition, _ingest_offset, n FROM src") {
		var id int
		if _, err := fmt.Sscan(r[2], &id); err != nil {
			a.fatal("%v", err)
		}
		want[a.kinds[id]]++
		places[r[0]+"/"+r[1]] = a.kinds[id]
	}
	rows := a.sql("SELECT p, o, n, twice FROM " + a.target() + " ORDER BY p, o")
	a.once(a.target(), rows)
	if len(rows) != want[advGood] {
		a.problem("%d rows in the target, %d records are good", len(rows), want[advGood])
	}
	for _, r := range rows {
		if k, ok := places[r[0]+"/"+r[1]]; !ok || k != advGood {
			a.problem("the target has a row of record %v", r)
		}
	}
	bad := 0
	if a.policy == schema.DeadLetter {
		dead := a.sql("SELECT source_partition, source_offset FROM " + a.link() + "_dead ORDER BY 1, 2")
		a.once("the dead letters", dead)
		for _, r := range dead {
			if places[r[0]+"/"+r[1]] != advBad {
				a.problem("record %v is dead and was not bad", r)
			}
		}
		bad = len(dead)
	}
	counts := a.sql("SELECT read, written, skipped, dead FROM system.links")[0]
	if a.policy != schema.DeadLetter {
		fmt.Sscan(counts[2], &bad) //nolint:errcheck // a number
	}
	if bad != want[advBad] {
		a.problem("%d bad records are accounted for, there are %d", bad, want[advBad])
	}
	skipped, dead := want[advBad], 0
	if a.policy == schema.DeadLetter {
		skipped, dead = 0, want[advBad]
	}
	if got, w := strings.Join(counts, " "), fmt.Sprint(a.written, want[advGood], skipped, dead); got != w {
		a.problem("counts are %s, want %s (read, written, skipped, dead)", got, w)
	}
}

// play is one round; its problems are what went wrong.
func (a *adversary) play() {
	defer func() {
		if v := recover(); v != nil {
			if _, ok := v.(stopped); !ok {
				panic(v)
			}
		}
		for _, n := range a.nodes {
			if n.e != nil {
				_ = n.e.Close()
			}
		}
	}()
	a.begin()
	for range 40 {
		a.step()
		if len(a.problems) > 0 {
			return
		}
	}
	a.finish()
}

// TestLinkAdversary plays rounds in which a link works while its workers are
// overtaken, restarted and killed at every call of the stores, and lose replies:
// target, dead letters and skipped records are the source, exactly once.
func TestLinkAdversary(t *testing.T) {
	rounds, failed := *adversaryRounds, 0
	var sum adversary
	records := 0
	for i := range rounds {
		seed := *adversarySeed + uint64(i)
		a := newAdversary(seed, right)
		a.play()
		if len(a.problems) > 0 {
			failed++
			t.Errorf("seed %d: %s\ngo test . -run '^TestLinkAdversary$' -links 1 -link-seed %d", seed, strings.Join(a.problems, "\n\t"), seed)
		}
		sum.refused += a.refused
		sum.died += a.died
		sum.lost += a.lost
		sum.paused += a.paused
		sum.batches += a.batches
		records += a.written
	}
	t.Logf("%d records in %d batches; %d batches of overtaken workers refused, %d workers overtaken, %d killed, %d replies lost for good",
		records, sum.batches, sum.refused, sum.paused, sum.died, sum.lost)
	if rounds >= 10 && (sum.refused == 0 || sum.died == 0 || sum.lost == 0 || sum.paused == 0) {
		t.Error("the adversary has not tried everything")
	}
	t.Logf("link-adversary: %d passed, %d failed, 0 skipped", rounds-failed, failed)
}

// TestLinkControls does it wrong on purpose: without fence and offsets compared,
// and with the offsets moved apart. The adversary notices both.
func TestLinkControls(t *testing.T) {
	for name, c := range map[string]control{"unfenced": unfenced, "apart": apart} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(60) {
				a := newAdversary(1000+seed, c)
				a.play()
				if len(a.problems) > 0 {
					t.Logf("caught in round %d: %s", seed+1, a.problems[0])
					return
				}
			}
			t.Error("60 rounds have not noticed")
		})
	}
}
