package shell

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/loamdb/loam/cmd/loam/internal/shell/internal/render"
	"github.com/loamdb/loam/internal/clock"
	"github.com/loamdb/loam/internal/fail"
)

// Terminal says which of the standard streams are terminals and what they may show.
type Terminal struct {
	In, Out, Err    bool
	Color, ColorErr bool
}

// FindTerminal looks at the standard streams. color is auto, always or never;
// auto follows NO_COLOR and TERM=dumb.
func FindTerminal(color string) (Terminal, error) {
	is := func(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
	t := Terminal{In: is(os.Stdin), Out: is(os.Stdout), Err: is(os.Stderr)}
	switch color {
	case "always":
		t.Color, t.ColorErr = true, true
	case "never":
	case "auto":
		plain := os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb"
		t.Color, t.ColorErr = t.Out && !plain, t.Err && !plain
	default:
		return t, fail.New(fail.InvalidParameter, "--color is %q", color).WithHint("Write auto, always or never.")
	}
	return t, nil
}

// size is the terminal's width and height in cells; 0 without one.
func (s *Shell) size() (width, height int) {
	if !s.cfg.Term.Out || s.file != nil {
		return 0, 0
	}
	w, h, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil || w <= 0 {
		return 80, 24
	}
	return w, h
}

// lateWriter calls first before the first byte.
type lateWriter struct {
	first func()
	out   io.Writer
	begun bool
}

// Write implements io.Writer.
func (w *lateWriter) Write(p []byte) (int, error) {
	if !w.begun {
		w.begun = true
		w.first()
	}
	return w.out.Write(p)
}

// spinner shows on a terminal that a statement runs, from half a second on.
type spinner struct {
	out   io.Writer
	clock clock.Clock
	end   context.CancelFunc
	done  sync.WaitGroup
}

const (
	spinAfter = 500 * time.Millisecond
	spinEvery = 100 * time.Millisecond
)

var spinFrames = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

func (p *spinner) start(ctx context.Context) {
	if p == nil {
		return
	}
	p.stop()
	ctx, p.end = context.WithCancel(ctx)
	p.done.Go(func() { p.spin(ctx) })
}

func (p *spinner) spin(ctx context.Context) {
	began := p.clock.Mono()
	if p.clock.Sleep(ctx, spinAfter) != nil {
		return
	}
	for i := 0; ; i++ {
		fmt.Fprintf(p.out, "\r\x1b[K%s %.1f s  Ctrl-C cancels", spinFrames[i%len(spinFrames)], (p.clock.Mono() - began).Seconds())
		if p.clock.Sleep(ctx, spinEvery) != nil {
			break
		}
	}
	fmt.Fprint(p.out, "\r\x1b[K")
}

// stop clears the line. It may be called twice.
func (p *spinner) stop() {
	if p == nil || p.end == nil {
		return
	}
	p.end()
	p.done.Wait()
	p.end = nil
}

// pager keeps what fits the screen and starts $PAGER for more.
type pager struct {
	out           io.Writer
	width, height int
	held          strings.Builder
	lines         int

	cmd  *exec.Cmd
	pipe io.WriteCloser
	gone bool // the reader has left
	bare bool // there is no pager: the text goes on as it is
	shut bool
}

func newPager(out io.Writer, width, height int) *pager {
	return &pager{out: out, width: width, height: height}
}

// pagerCommand is $PAGER, or less where there is one; "" is none.
func pagerCommand() string {
	if p, set := os.LookupEnv("PAGER"); set {
		return strings.TrimSpace(p)
	}
	if p, err := exec.LookPath("less"); err == nil {
		return p
	}
	return ""
}

// Write implements io.Writer.
func (p *pager) Write(b []byte) (int, error) {
	if p.cmd != nil {
		n, err := p.pipe.Write(b)
		if err != nil {
			p.gone = true
		}
		return n, err
	}
	if p.bare {
		return p.out.Write(b)
	}
	p.held.Write(b)
	for line := range strings.Lines(string(b)) {
		p.lines += 1 + (render.Width(line)-1)/max(p.width, 1)
	}
	if p.lines < p.height-1 {
		return len(b), nil
	}
	if err := p.begin(); err != nil {
		return 0, err
	}
	return len(b), nil
}

// begin starts the pager with what was held; without one, the text goes on as it is.
func (p *pager) begin() error {
	held := p.held.String()
	p.held.Reset()
	command := pagerCommand()
	if command == "" || command == "cat" {
		p.bare = true
		_, err := io.WriteString(p.out, held)
		return err
	}
	p.cmd = exec.Command("sh", "-c", command)
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Env = os.Stdout, os.Stderr, pagerEnv(os.Environ())
	var err error
	if p.pipe, err = p.cmd.StdinPipe(); err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		p.cmd, p.bare = nil, true
		_, err = io.WriteString(p.out, held)
		return err
	}
	if _, err := io.WriteString(p.pipe, held); err != nil {
		p.gone = true
		return err
	}
	return nil
}

// pagerEnv tells less to quit on one screen, to cut long lines, to keep colors
// and the screen, unless the person has their own wishes.
func pagerEnv(env []string) []string {
	for _, add := range []string{"LESS=-SRFX", "LESSCHARSET=utf-8"} {
		name, _, _ := strings.Cut(add, "=")
		if _, set := os.LookupEnv(name); !set {
			env = append(env, add)
		}
	}
	return env
}

// left reports that the reader quit the pager.
func (p *pager) left() bool { return p.gone }

// close prints what was held and waits until the pager ends. It may be called twice.
func (p *pager) close() error {
	if p.shut {
		return nil
	}
	p.shut = true
	if p.cmd == nil {
		_, err := io.WriteString(p.out, p.held.String())
		return err
	}
	_ = p.pipe.Close() // an error is the reader's leaving
	_ = p.cmd.Wait()
	return nil
}
