package loam_test

import (
	"context"
	"testing"
	"time"

	"github.com/loamdb/loam"
	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

// past is an engine on a clock that stands still, and a session of it.
type past struct {
	*loam.Session
	t      *testing.T
	engine *loam.Engine
	clk    *clock.Manual
}

func newPast(t *testing.T, cfg loam.Config) *past {
	t.Helper()
	clk := clock.NewManual(time.UnixMilli(1_800_000_000_000))
	cfg.Clock, cfg.IDs = clk, clock.SeededIDs(clk, 1)
	cfg.OnError = func(task string, err error) { t.Errorf("%s: %v", task, err) }
	e, err := loam.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return &past{Session: e.NewSession(loam.SessionConfig{}), t: t, engine: e, clk: clk}
}

// do runs a statement that must succeed.
func (p *past) do(sql string) {
	p.t.Helper()
	if err := p.try(sql); err != nil {
		p.t.Fatalf("%s: %v", sql, err)
	}
}

func (p *past) try(sql string) error {
	res, err := p.Query(context.Background(), sql)
	if err != nil {
		return err
	}
	for {
		c, err := res.Next(context.Background())
		if err != nil || c == nil {
			return err
		}
	}
}

// settle makes a version of what was written, and returns its plan.
func (p *past) settle(object string) *loam.ScanPlan {
	p.t.Helper()
	plan, err := p.ScanPlan(context.Background(), loam.ScanRequest{Target: loam.Target{Name: object}, Tail: loam.TailWait})
	if err != nil {
		p.t.Fatal(err)
	}
	return plan
}

func (p *past) version(object string, v uint64) (*loam.ScanPlan, error) {
	return p.ScanPlan(context.Background(), loam.ScanRequest{Target: loam.Target{Name: object}, ManifestVersion: &v})
}

// maintain lets time pass and runs what is due, as the workers do.
func (p *past) maintain() {
	p.t.Helper()
	p.clk.Advance(31 * time.Second)
	tasks, err := p.engine.Due(context.Background())
	if err != nil {
		p.t.Fatal(err)
	}
	for _, task := range tasks {
		if err := task.Run(context.Background(), nil); err != nil {
			p.t.Fatalf("%s: %v", task.Key, err)
		}
	}
}

// Versions stay readable for the engine's time, or the object's own.
func TestTimeTravelOptions(t *testing.T) {
	p := newPast(t, loam.Config{TimeTravel: time.Hour})
	p.do("CREATE TABLE short (a INT) WITH (time_travel = '5m')")
	p.do("CREATE TABLE long (a INT) WITH (time_travel = '2d')")
	p.do("CREATE TABLE usual (a INT)")
	names := []string{"short", "long", "usual"}
	for range 2 {
		for _, n := range names {
			p.do("INSERT INTO " + n + " VALUES (1)")
			p.settle(n)
		}
		p.clk.Advance(time.Second)
	}
	expired := func() (out []string) {
		t.Helper()
		for _, n := range names {
			if plan, err := p.version(n, 1); fail.Is(err, fail.SnapshotExpired) {
				out = append(out, n)
			} else if err != nil || plan.LiveRows != 1 {
				t.Fatalf("%s: %+v %v", n, plan, err)
			}
			if plan, err := p.version(n, 2); err != nil || plan.LiveRows != 2 {
				t.Fatalf("%s now: %v", n, err)
			}
		}
		return out
	}
	plan, err := p.version("usual", 1)
	if err != nil || plan.ExpiresAt.Sub(plan.PlannedAt) > time.Hour || plan.ExpiresAt.Sub(plan.PlannedAt) < 59*time.Minute {
		t.Fatalf("planned %v, expires %v, %v", plan.PlannedAt, plan.ExpiresAt, err)
	}
	for _, step := range []struct {
		pass time.Duration
		want int
	}{{time.Minute, 0}, {6 * time.Minute, 1}, {time.Hour, 2}, {46 * time.Hour, 2}, {time.Hour, 3}} {
		p.clk.Advance(step.pass)
		p.maintain()
		if got := expired(); len(got) != step.want {
			t.Fatalf("after another %v: %v are expired", step.pass, got)
		}
	}
}

func TestTimeTravelRefusals(t *testing.T) {
	for _, d := range []time.Duration{time.Millisecond, -time.Hour, 5000 * 24 * time.Hour} {
		if _, err := loam.Open(t.Context(), loam.Config{TimeTravel: d}); !fail.Is(err, fail.InvalidParameter) {
			t.Errorf("%v: %v", d, err)
		}
	}
	p := newPast(t, loam.Config{})
	for _, o := range []string{"time_travel = '1ms'", "time_travel = 'x'", "time_travel = '99999999999999d'", "time_travel = '-1d'", "max_tags = 65", "max_tags = 0"} {
		if err := p.try("CREATE TABLE t (a INT) WITH (" + o + ")"); !fail.Is(err, fail.InvalidParameter) {
			t.Errorf("%s: %v", o, err)
		}
	}
}
