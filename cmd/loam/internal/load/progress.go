package load

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

// status is what the load is doing, for people. Safe for concurrent use.
type status struct {
	out      io.Writer // standard error
	terminal bool
	quiet    bool
	clock    clock.Clock
	began    time.Duration
	total    int64 // bytes of all files, 0 when nobody knows
	read     atomic.Int64
	rows     func() int64

	mu    sync.Mutex // guards the fields below and writing to out
	waits string     // why nothing moves, or ""
	drawn int        // width of the line on the terminal
}

// say prints a line beside the progress.
func (s *status) say(format string, args ...any) {
	if s.quiet {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	fmt.Fprintf(s.out, format+"\n", args...)
}

// wipe clears the progress line.
func (s *status) wipe() {
	if s.drawn > 0 {
		fmt.Fprintf(s.out, "\r%s\r", strings.Repeat(" ", s.drawn))
		s.drawn = 0
	}
}

// waiting says why nothing moves.
func (s *status) waiting(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	why := "the server does not answer"
	if fail.CodeOf(err) == fail.BacklogFull || fail.CodeOf(err) == fail.Exhausted {
		why = "the server asks to wait"
	}
	if s.waits == "" && !s.quiet && !s.terminal && why != "the server asks to wait" {
		fmt.Fprintf(s.out, "waiting: %s; trying again\n", why)
	}
	s.waits = why
}

func (s *status) resumed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waits = ""
}

// How often the line is drawn on a terminal, and printed elsewhere.
const (
	drawEvery  = 200 * time.Millisecond
	printEvery = 10 * time.Second
)

// run draws until ctx ends.
func (s *status) run(ctx context.Context) {
	every := printEvery
	if s.terminal {
		every = drawEvery
	}
	for !s.quiet && s.clock.Sleep(ctx, every) == nil {
		s.draw()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
}

func (s *status) draw() {
	line := s.line(s.clock.Mono() - s.began)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waits != "" {
		line += ", waiting: " + s.waits
	}
	if !s.terminal {
		fmt.Fprintln(s.out, line)
		return
	}
	width := len([]rune(line))
	fmt.Fprintf(s.out, "\r%s%s", line, strings.Repeat(" ", max(0, s.drawn-width)))
	s.drawn = width
}

// line is the progress after some time.
func (s *status) line(took time.Duration) string {
	rows, read := s.rows(), s.read.Load()
	seconds := max(took.Seconds(), 1e-3)
	out := fmt.Sprintf("%s rows, %s rows/s, %s/s", thousands(rows), thousands(int64(float64(rows)/seconds)), size10(float64(read)/seconds))
	if s.total == 0 {
		return out
	}
	share := min(1, float64(read)/float64(s.total))
	bar := ""
	if s.terminal {
		const width = 24
		full := int(share * width)
		bar = "[" + strings.Repeat("█", full) + strings.Repeat("·", width-full) + "] "
	}
	out = fmt.Sprintf("%s%3.0f %%  %s", bar, 100*share, out)
	if share > 0.02 && share < 1 {
		left := time.Duration(float64(took) * (1 - share) / share)
		out += ", " + short(left) + " left"
	}
	return out
}

// thousands writes a number in groups of three digits.
func thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// size10 writes bytes in MB or kB.
func size10(b float64) string {
	switch {
	case b >= 1e9:
		return fmt.Sprintf("%.1f GB", b/1e9)
	case b >= 1e6:
		return fmt.Sprintf("%.1f MB", b/1e6)
	}
	return fmt.Sprintf("%.0f kB", b/1e3)
}

// short writes a duration as people say it.
func short(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	}
	return fmt.Sprintf("%.1f h", d.Hours())
}

// countingReader and countingAt count what is read for the progress.
type countingReader struct {
	r io.Reader
	s *status
}

// Read implements io.Reader.
func (c countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.s.read.Add(int64(n))
	return n, err
}

type countingAt struct {
	r io.ReaderAt
	s *status
}

// ReadAt implements io.ReaderAt.
func (c countingAt) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.r.ReadAt(p, off)
	c.s.read.Add(int64(n))
	return n, err
}
