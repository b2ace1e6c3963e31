package exec

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"github.com/loamdb/loam/internal/expr"
	"github.com/loamdb/loam/internal/fail"
	"github.com/loamdb/loam/internal/mem"
	"github.com/loamdb/loam/internal/plan"
	"github.com/loamdb/loam/internal/vec"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rowsOf lists the selected rows of chunks.
func rowsOf(chunks []*vec.Chunk) []refRow {
	var out []refRow
	for _, c := range chunks {
		for i := range c.Rows() {
			var r refRow
			for _, col := range c.Cols {
				r = append(r, col.Value(c.RowAt(i)))
			}
			out = append(out, r)
		}
	}
	return out
}

// refAnswer is the reference's answer, or the SQLSTATE it fails with.
func refAnswer(n plan.Node, tables map[string]*table) (rows []string, sqlstate string) {
	defer func() {
		if e, ok := recover().(refErr); ok {
			sqlstate = string(e)
		}
	}()
	return rendered(refRun(n, tables)), ""
}

// runWay runs a plan one way and checks that nothing is left behind.
func runWay(t *testing.T, n plan.Node, src *memSources, opt Options) ([]string, error) {
	t.Helper()
	opt.Memory = mem.New("query", mem.NoLimit)
	chunks, err := RunAll(context.Background(), n, &expr.Env{}, src, opt)
	if opt.Memory.Bytes() != 0 {
		t.Errorf("%d bytes are still reserved", opt.Memory.Bytes())
	}
	if src.opened.Load() != src.closed.Load() {
		t.Errorf("%d sources opened, %d closed", src.opened.Load(), src.closed.Load())
	}
	return rendered(rowsOf(chunks)), err
}

// TestRandomPlansAgainstReference runs random plans every way (workers, chunk
// sizes, selections and dictionaries, equal hashes) and compares the rows with
// the reference's, and the order of rows between numbers of workers. LOAM_SEED
// reruns one seed.
func TestRandomPlansAgainstReference(t *testing.T) {
	from, to := uint64(1), uint64(600)
	if s, err := strconv.ParseUint(os.Getenv("LOAM_SEED"), 10, 64); err == nil {
		from, to = s, s+1
	}
	for seed := from; seed < to; seed++ {
		if !t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) { testSeed(t, seed) }) {
			return
		}
	}
}

func testSeed(t *testing.T, seed uint64) {
	g := newGenerator(seed)
	root := g.plan(1 + int(seed%4))
	if seed%2 == 0 {
		root = g.join(root, g.plan(int(seed%3)))
	}
	checkPlan(t, seed, root, g.tables)
}

// checkPlan runs a plan every way against the reference.
func checkPlan(t *testing.T, seed uint64, root plan.Node, tables map[string]*table) {
	t.Helper()
	want, state := refAnswer(root, tables)
	_, sorted := root.(*plan.Sort)
	for _, chunk := range []int{1, 3, 2048} {
		var order []string
		for _, workers := range []int{1, 2, 4} {
			src := &memSources{tables: tables, chunkRows: chunk, seed: seed}
			got, err := runWay(t, root, src, Options{Workers: workers, SameHash: chunk == 3})
			if state != "" {
				if fail.CodeOf(err).SQLState() != state {
					t.Fatalf("error %v, want SQLSTATE %s\n%s", err, state, describe(root))
				}
				continue
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, describe(root))
			}
			if order == nil {
				order = got
			}
			if !slices.Equal(got, order) {
				t.Errorf("the order depends on the workers")
			}
			compareRows(t, got, want, sorted)
			if t.Failed() {
				t.Fatalf("%d workers, chunks of %d, LOAM_SEED=%d\n%s", workers, chunk, seed, describe(root))
			}
		}
	}
}

// compareRows compares rows in order, or as a bag.
func compareRows(t *testing.T, got, want []string, inOrder bool) {
	t.Helper()
	if !inOrder {
		got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %d rows\n%q\nwant %d rows\n%q", len(got), got, len(want), want)
	}
}

// describe prints a plan by its operators.
func describe(n plan.Node) string {
	var out string
	var walk func(n plan.Node, indent string)
	walk = func(n plan.Node, indent string) {
		out += indent + fmt.Sprintf("%s %+v\n", n.Name(), n.Columns())
		if j, ok := n.(*plan.Join); ok {
			out += indent + fmt.Sprintf("  %s keys %v residual %v\n", j.Kind, j.Keys, j.Residual)
		}
		for _, c := range n.Children() {
			walk(c, indent+"  ")
		}
	}
	walk(n, "")
	return out
}

func sorted(rows []string) []string { return slices.Sorted(slices.Values(rows)) }

func sqlState(err error) string { return fail.CodeOf(err).SQLState() }
