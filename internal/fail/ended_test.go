package fail

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestEnded(t *testing.T) {
	if err := Ended(context.Background(), "the scan"); err != nil {
		t.Error(err)
	}
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	late, cancel := context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer cancel()
	stopped, stop := context.WithCancelCause(context.Background())
	stop(fmt.Errorf("serve: %w", Stopping()))
	odd, end := context.WithCancelCause(context.Background())
	end(errors.New("a cause that is not ours"))
	for _, c := range []struct {
		ctx  context.Context
		code Code
		text string
	}{
		{canceled, Canceled, "the scan was canceled"},
		{late, DeadlineExceeded, "the scan ran into its deadline"},
		{stopped, Unavailable, "the server is stopping and has ended the call. Try again when it has started."},
		{odd, Canceled, "the scan was canceled"},
	} {
		child, cancel := context.WithCancel(c.ctx)
		if err := Ended(child, "the scan"); CodeOf(err) != c.code || err.Error() != c.text {
			t.Errorf("%s %v, want %s %s", CodeOf(err), err, c.code, c.text)
		}
		cancel()
	}
	if err := Ended(late, "x"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v has lost its cause", err)
	}
}

// TestBareEnds: errors of a context that nobody has typed yet.
func TestBareEnds(t *testing.T) {
	for err, want := range map[error]Code{
		context.Canceled: Canceled, fmt.Errorf("read: %w", context.DeadlineExceeded): DeadlineExceeded, errors.New("other"): Internal,
	} {
		if CodeOf(err) != want || As(err).Code != want {
			t.Errorf("%v is %s", err, CodeOf(err))
		}
	}
}

func TestCauseOf(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	broken := New(DivisionByZero, "division by zero")
	if err := CauseOf(ctx, context.Canceled); CodeOf(err) != Canceled {
		t.Error(err)
	}
	cancel(Stopping())
	for err, want := range map[error]Code{context.Canceled: Unavailable, New(Canceled, "x"): Unavailable, broken: DivisionByZero} {
		if got := CodeOf(CauseOf(ctx, err)); got != want {
			t.Errorf("%v is %s, want %s", err, got, want)
		}
	}
	if CauseOf(ctx, nil) != nil {
		t.Error("no error has no cause")
	}
}
