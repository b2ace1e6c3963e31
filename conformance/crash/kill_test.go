package crash

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/loamdb/loam"
)

var (
	longRounds = flag.Int("rounds", 0, "rounds of kill -9 of TestLong; 0 skips it")
	runSeed    = flag.Uint64("seed", 0, "seed of the kills and images; 0 takes one from the clock")
	keepDir    = flag.Bool("keep", false, "keep the data directory of the kill loop")
)

func seedOf(t *testing.T) uint64 {
	t.Helper()
	s := *runSeed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	t.Logf("run again with -seed %d", s)
	return s
}

// tally counts over all rounds.
type tally struct {
	rounds, random    int
	kills             map[string]int
	acked             int // rows of acknowledged statements
	lost, duplicated  int
	recovery, slowest time.Duration
}

// childPatience is long enough for a machine that does much else.
const childPatience = 3 * time.Minute

// killer runs children in one data directory and kills them.
type killer struct {
	t     *testing.T
	rng   *rand.Rand
	dir   string
	store loam.StoreConfig // where the objects lie, when not in dir
	acked []int
	tally tally
	// heard takes what a child says of its work.
	heard func(word, rest string)

	mu    sync.Mutex // guards the fields below
	last  string     // what the child said last
	since time.Time
}

// saying notes what the child says.
func (k *killer) saying(line string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last, k.since = line, time.Now()
}

// stuck says that a child was not done, and what it did last.
func (k *killer) stuck(o order) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.t.Errorf("the child was not done after %s, phase %q call %d; it said %.200q %s ago; its goroutines are on stderr", childPatience, o.Phase, o.Skip, k.last, time.Since(k.since).Round(time.Second))
}

func newKiller(t *testing.T) *killer {
	t.Helper()
	dir := t.TempDir()
	if *keepDir {
		var err error
		if dir, err = os.MkdirTemp("", "loam-crash"); err != nil {
			t.Fatal(err)
		}
		t.Logf("data in %s", dir)
	}
	k := &killer{t: t, rng: rand.New(rand.NewPCG(seedOf(t), 1)), dir: dir, acked: make([]int, writers), tally: tally{kills: map[string]int{}}}
	k.heard = k.statement
	return k
}

// killRounds kills children that run statements round by round.
func killRounds(t *testing.T, store loam.StoreConfig, rounds, enough int) tally {
	k := newKiller(t)
	k.store = store
	for round := 0; round < rounds || k.tally.acked < enough && round < 2*rounds; round++ {
		k.kill(round, order{Dir: k.dir, Store: k.store, Acked: k.acked})
	}
	k.round(order{Dir: k.dir, Store: k.store, Acked: k.acked, VerifyOnly: true}, 0)
	return k.tally
}

// kill runs a child with an order and kills it: in four of five rounds at a named
// phase, each phase at three points, in the fifth at a random moment after its start.
func (k *killer) kill(round int, o order) {
	o.Seed = k.rng.Uint64()
	if round%5 == 4 {
		k.round(o, time.Duration(k.rng.IntN(2500))*time.Millisecond)
	} else {
		named := round - (round+1)/5
		o.Phase, o.Point = phases[named%len(phases)], point(named/len(phases)%3)
		o.Skip = k.rng.IntN(map[string]int{"append": 150, "sequence": 150, "apply": 60, "commit": 15}[o.Phase])
		k.round(o, 0)
	}
	k.tally.rounds++
	if k.t.Failed() {
		k.t.Fatalf("round %d, order %+v", round, o)
	}
}

// round starts a child, follows what it says, and kills it: when it stops at its
// phase, or wait after its start when it has none.
func (k *killer) round(o order, wait time.Duration) {
	text, err := json.Marshal(o)
	if err != nil {
		k.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	cmd.Stderr = os.Stderr
	ours, theirs, err := os.Pipe()
	if err != nil {
		k.t.Fatal(err)
	}
	defer func() { _ = ours.Close() }()
	cmd.ExtraFiles = []*os.File{theirs}
	started := time.Now()
	k.saying("nothing")
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	_ = theirs.Close()
	kill := time.AfterFunc(childPatience, func() { // a child that never stops is a failure
		k.stuck(o)
		_ = cmd.Process.Signal(syscall.SIGQUIT)
	})
	if o.Phase == "" && !o.VerifyOnly {
		kill.Reset(wait) // Errorf is not wanted then
		kill.Stop()
		kill = time.AfterFunc(wait, func() { _ = cmd.Process.Kill() })
	}
	defer kill.Stop()
	k.follow(ours, o, started, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait()
	if o.Phase == "" && !o.VerifyOnly {
		k.tally.random++
	}
}

// follow reads the child's lines until its end.
func (k *killer) follow(pipe *os.File, o order, started time.Time, kill func()) {
	lines := bufio.NewScanner(pipe)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		k.saying(lines.Text())
		word, rest, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case "open":
			k.tally.slowest = max(k.tally.slowest, time.Since(started))
		case "phase":
			kill()
			k.tally.kills[rest]++
		case "problem":
			k.problem(rest)
		case "error":
			k.t.Errorf("the child fails: %s", rest)
		case "verified", "end":
			k.tally.recovery = max(k.tally.recovery, time.Since(started))
		default:
			k.heard(word, rest)
		}
	}
}

// statement follows how far the writers of statements have got.
func (k *killer) statement(word, rest string) {
	var w, s, n int
	switch word {
	case "reached":
		scan(k.t, rest, &w, &s)
	case "ack":
		scan(k.t, rest, &w, &s, &n)
		if s != k.acked[w]+1 {
			k.t.Errorf("writer %d acknowledges statement %d after %d", w, s, k.acked[w])
		}
		k.tally.acked += n
	default:
		return
	}
	k.acked[w] = s
}

func (k *killer) problem(text string) {
	kind, _, _ := strings.Cut(text, " ")
	switch kind {
	case "lost":
		k.tally.lost++
	case "duplicated":
		k.tally.duplicated++
	}
	k.t.Errorf("%s", text)
}

func scan(t *testing.T, text string, into ...any) {
	t.Helper()
	if _, err := fmt.Sscan(text, into...); err != nil {
		t.Fatalf("a child says %q: %v", text, err)
	}
}

// report prints the lines that crash-quick ends with.
func (c tally) report(t *testing.T, name string) {
	for _, p := range phases {
		if c.kills[p] < 3 && c.rounds >= 30 {
			t.Errorf("only %d kills in phase %s", c.kills[p], p)
		}
	}
	fmt.Printf("    %d kills at random moments, %d acknowledged rows, slowest open %s\n", c.random, c.acked, c.slowest.Round(time.Millisecond))
	fmt.Printf("kills: append %d, sequence %d, apply %d, commit %d\n", c.kills["append"], c.kills["sequence"], c.kills["apply"], c.kills["commit"])
	fmt.Printf(name+": %d rounds, %d lost, %d duplicated\n", c.rounds, c.lost, c.duplicated)
}

// TestQuick is 30 rounds of kill -9 under load.
func TestQuick(t *testing.T) {
	c := killRounds(t, loam.StoreConfig{}, 30, 10_000)
	if c.acked < 10_000 {
		t.Errorf("only %d acknowledged rows", c.acked)
	}
	c.report(t, "crash")
}

// TestLong is the same with as many rounds as asked for.
func TestLong(t *testing.T) {
	if *longRounds == 0 {
		t.Skip("run with -rounds 500")
	}
	killRounds(t, loam.StoreConfig{}, *longRounds, 0).report(t, "crash")
}
