package crash

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/storage/collection"
)

// linkChildEnv holds a linkOrder as JSON.
const linkChildEnv = "LOAM_CRASH_LINK_CHILD"

// linkOrder tells a child to write records from Next on, while a link carries them.
type linkOrder struct {
	Dir  string
	Next int
}

// Every tenth record is bad, every tenth is left out by the filter.
const (
	badDigit      = 7
	filteredDigit = 3
)

func linkConfig(dir string) loam.Config {
	return loam.Config{Dir: dir, Collection: collection.Options{ApplyRows: 300, BatchInterval: 30 * time.Millisecond, MaxBatchInterval: 200 * time.Millisecond, MaxSplits: 4, MinFragment: 1, MaxDeleted: 50}}
}

var linkDDL = []string{
	"CREATE STREAM IF NOT EXISTS src (key TEXT, n BIGINT, body TEXT) WITH (partitions = 3)",
	"CREATE TABLE IF NOT EXISTS dst (n BIGINT, v INT)",
	fmt.Sprintf("CREATE LINK IF NOT EXISTS l FROM STREAM src INTO TABLE dst TRANSFORM (SELECT n, CAST(body AS INT) AS v WHERE n %% 10 <> %d) WITH (on_error = 'dead_letter', batch_interval = '10ms', batch_bytes = '2KiB')", filteredDigit),
}

func beLinkChild(text string) int {
	out := os.NewFile(3, "parent")
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format+"\n", args...) }
	var o linkOrder
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		say("error %v", err)
		return 1
	}
	ctx := context.Background()
	e, err := loam.Open(ctx, linkConfig(o.Dir))
	if err != nil {
		say("error %v", err)
		return 1
	}
	r := reader{ctx, e.NewSession(loam.SessionConfig{})}
	for _, sql := range linkDDL {
		if _, err := r.rows(sql); err != nil {
			say("error %v", err)
			return 1
		}
	}
	say("open")
	for n := o.Next; ; n += 10 {
		var rows []string
		for i := n; i < n+10; i++ {
			body := fmt.Sprint(i)
			if i%10 == badDigit {
				body = "bad"
			}
			rows = append(rows, fmt.Sprintf("('k%d', %d, '%s')", i%17, i, body))
		}
		say("try %d", n)
		if _, err := r.rows("INSERT INTO src VALUES " + strings.Join(rows, ", ")); err != nil {
			say("error %v", err)
			return 1
		}
		say("acked %d", n)
	}
}

// linkRound lets a child work for a while and kills it. It returns the next record to
// write: a batch whose answer was not seen is not written again.
func linkRound(t *testing.T, dir string, next int, wait time.Duration) int {
	t.Helper()
	text, err := json.Marshal(linkOrder{dir, next})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), linkChildEnv+"="+string(text))
	cmd.Stderr = os.Stderr
	ours, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ours.Close() }()
	cmd.ExtraFiles = []*os.File{theirs}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close()
	lost := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer lost.Stop()
	for lines := bufio.NewScanner(ours); lines.Scan(); {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case "open":
			kill := time.AfterFunc(wait, func() { _ = cmd.Process.Kill() })
			defer kill.Stop()
		case "try":
			var n int
			scan(t, rest, &n)
			next = n + 10
		case "error":
			t.Errorf("the child says: %s", rest)
		}
	}
	_ = cmd.Wait()
	return next
}

// TestQuickLinks kills the process while a link works: whatever of the source was
// written is in the target or the dead letters, once.
func TestQuickLinks(t *testing.T) { killLinks(t, 15) }

// TestLongLinks is the same with as many rounds as asked for.
func TestLongLinks(t *testing.T) {
	if *longRounds == 0 {
		t.Skip("run with -rounds 500")
	}
	killLinks(t, *longRounds)
}

func killLinks(t *testing.T, rounds int) {
	dir := t.TempDir()
	seed := seedOf(t)
	rng := rand.New(rand.NewPCG(seed, 9))
	next := 0
	for range rounds {
		next = linkRound(t, dir, next, time.Duration(50+rng.IntN(400))*time.Millisecond)
	}
	ctx := context.Background()
	e, err := loam.Open(ctx, linkConfig(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	r := reader{ctx, e.NewSession(loam.SessionConfig{})}
	ask := func(sql string) string {
		t.Helper()
		rows, err := r.rows(sql)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		var out []string
		for _, row := range rows {
			out = append(out, strings.Join(row, " "))
		}
		return strings.Join(out, "; ")
	}
	for start := time.Now(); ask("SELECT lag_records FROM system.links") != "0"; time.Sleep(20 * time.Millisecond) {
		if time.Since(start) > time.Minute {
			t.Fatalf("the link does not come to an end: %s", ask("SELECT state, error, lag_records FROM system.links"))
		}
	}
	for what, sql := range map[string]string{
		"records without their row": fmt.Sprintf("SELECT count(*) FROM src WHERE n %% 10 NOT IN (%d, %d) AND n NOT IN (SELECT n FROM dst)", badDigit, filteredDigit),
		"bad records that are lost": fmt.Sprintf("SELECT count(*) FROM src WHERE n %% 10 = %d AND n NOT IN (SELECT CAST(record->>'n' AS BIGINT) FROM l_dead)", badDigit),
		"rows twice":                "SELECT count(*) - count(DISTINCT n) FROM dst",
		"dead letters twice":        "SELECT count(*) - count(DISTINCT record->>'n') FROM l_dead",
		"rows without a record":     "SELECT count(*) FROM dst WHERE n NOT IN (SELECT n FROM src)",
		"records miscounted":        "SELECT read - (SELECT count(*) FROM src) FROM system.links",
		"rows miscounted":           "SELECT written - (SELECT count(*) FROM dst) FROM system.links",
		"dead letters miscounted":   "SELECT dead - (SELECT count(*) FROM l_dead) FROM system.links",
	} {
		if got := ask(sql); got != "0" {
			t.Errorf("seed %d: %s %s", seed, got, what)
		}
	}
	if ask("SELECT count(*) > 500 FROM dst") != "true" {
		t.Errorf("only %s rows were carried", ask("SELECT count(*) FROM dst"))
	}
	t.Logf("kill -9: %d rounds, %s rows and %s dead letters of %s records in %s batches", rounds, ask("SELECT count(*) FROM dst"), ask("SELECT count(*) FROM l_dead"),
		ask("SELECT count(*) FROM src"), ask("SELECT batches FROM system.links"))
}
