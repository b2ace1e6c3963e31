package object

import (
	"errors"
	"testing"
	"time"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

func TestFaultyPut(t *testing.T) {
	cases := []struct {
		kind    FaultKind
		unknown bool
		there   bool
	}{{FailBefore, false, false}, {LostBefore, true, false}, {FailAfter, true, true}}
	for _, c := range cases {
		inner := NewMem()
		f := NewFaulty(inner, clock.Real())
		f.Add(Fault{Op: OpPut, Prefix: "wal/", Kind: c.kind, Skip: 1, N: 1})
		put(t, f, "other", "x") // not under the prefix
		put(t, f, "wal/1", "x") // let pass
		_, err := f.Put(ctx, "wal/2", []byte("x"), PutOptions{})
		if err == nil || errors.Is(err, ErrUnknown) != c.unknown || !errors.Is(err, ErrInjected) {
			t.Errorf("kind %d: %v", c.kind, err)
		}
		if _, err := inner.Head(ctx, "wal/2"); (err == nil) != c.there {
			t.Errorf("kind %d: head %v", c.kind, err)
		}
		put(t, f, "wal/3", "x") // hit once only
		if f.Hits() != 1 || f.Calls(OpPut) != 4 {
			t.Errorf("%d hits, %d calls", f.Hits(), f.Calls(OpPut))
		}
	}
}

func TestFaultyReads(t *testing.T) {
	f := NewFaulty(NewMem(), clock.Real())
	put(t, f, "k", "\x00\x00\x00\x00")
	o, err := f.Open(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	f.Add(Fault{Kind: CorruptRead, Bit: 9})
	if got := get(t, f, "k"); got != "\x00\x02\x00\x00" {
		t.Errorf("get %q", got)
	}
	if got, err := f.GetRange(ctx, "k", 1, 1); err != nil || got[0] != 2 { // bit 9 of 8 is bit 1
		t.Errorf("range %q %v", got, err)
	}
	p := make([]byte, 4)
	if err := o.ReadAt(ctx, p, 0); err != nil || string(p) != "\x00\x02\x00\x00" {
		t.Errorf("read at %q %v", p, err)
	}
	f.Clear()
	if got := get(t, f, "k"); got != "\x00\x00\x00\x00" {
		t.Errorf("the object itself was changed: %q", got)
	}
	custom := errors.New("custom")
	f.Add(Fault{Err: custom})
	for op, call := range map[string]func() error{
		"get":    func() error { _, err := f.Get(ctx, "k"); return err },
		"head":   func() error { _, err := f.Head(ctx, "k"); return err },
		"list":   func() error { _, err := f.List(ctx, "", ""); return err },
		"open":   func() error { _, err := f.Open(ctx, "k"); return err },
		"read":   func() error { return o.ReadAt(ctx, p, 0) },
		"delete": func() error { return f.Delete(ctx, "k") },
		"create": func() error { _, err := f.Create(ctx, "k"); return err },
	} {
		if err := call(); !errors.Is(err, custom) || !fail.Is(err, fail.Unavailable) {
			t.Errorf("%s: %v", op, err)
		}
	}
}

func TestFaultyWriterAndDelay(t *testing.T) {
	inner := NewMem()
	clk := clock.NewManual(time.Unix(0, 0))
	f := NewFaulty(inner, clk)
	f.Add(Fault{Op: OpCommit, Kind: FailAfter, N: 1})
	w, err := f.Create(ctx, "w")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(); !errors.Is(err, ErrUnknown) {
		t.Fatalf("commit: %v", err)
	}
	if _, err := inner.Head(ctx, "w"); err != nil {
		t.Fatal(err)
	}
	f.Add(Fault{Op: OpGet, Kind: Delay, Delay: time.Minute})
	done := make(chan string)
	go func() { b, _ := f.Get(ctx, "w"); done <- string(b) + "!" }()
	for clk.Waiting() == 0 {
		time.Sleep(time.Millisecond)
	}
	select {
	case <-done:
		t.Fatal("not delayed")
	default:
	}
	clk.Advance(time.Minute)
	if got := <-done; got != "!" {
		t.Fatal(got)
	}
}
