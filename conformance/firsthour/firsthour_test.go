//go:build linux

package firsthour

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var rewrite = flag.Bool("rewrite", false, "put into the page what the commands print")

const (
	page    = "../../docs/first-hour.md"
	patient = 60 * time.Second // how long one command may take

	smallDisk = "48m" // enough for an empty data directory, and little more
)

// user is a person at an empty directory with the program in the path.
type user struct {
	t       *testing.T
	dir     string
	small   bool // small-disk is a disk of its own
	env     []string
	ports   *strings.Replacer // the page's ports to those of the test
	unports *strings.Replacer
	running []*background
}

// background is a command that goes on while the page does.
type background struct {
	cmd  *exec.Cmd
	out  output
	done chan struct{}
}

// output is written by a command and read by the test.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer // guarded by mu
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// TestFirstHour runs the page.
func TestFirstHour(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	u := newUser(t)
	steps := parsePage(string(text))
	got := map[int][]string{}
	passed, failed, skipped := 0, 0, 0
	start := time.Now()
	for _, s := range steps {
		if strings.Contains(s.command, "small-disk") && !u.small {
			skipped++
			continue
		}
		out, ok := u.run(s)
		if ok {
			passed++
			continue
		}
		failed++
		got[s.line] = out
		if !*rewrite {
			t.Errorf("%s:%v\ngot\n%s\nwant\n%s", filepath.Base(page), s, strings.Join(out, "\n"), strings.Join(s.want, "\n"))
		}
	}
	u.endAll()
	if *rewrite {
		if err := os.WriteFile(page, []byte(replaced(string(text), steps, got)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d commands in %.1f s", len(steps), time.Since(start).Seconds())
	t.Logf("first-hour: %d passed, %d failed, %d skipped", passed, failed, skipped)
}

func newUser(t *testing.T) *user {
	t.Helper()
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	work := filepath.Join(dir, "work")
	if err := errors.Join(os.Mkdir(bin, 0o755), os.Mkdir(work, 0o755)); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(bin, "loam"), "./cmd/loam")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	small := mountSmall(t, filepath.Join(work, "small-disk"))
	flight, web := freePort(t), freePort(t)
	return &user{
		t: t, dir: work, small: small,
		env: []string{
			"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8", "NO_COLOR=1",
			"LOAM_FLIGHT=127.0.0.1:" + flight, "LOAM_HTTP=127.0.0.1:" + web, "LOAM_ENDPOINT=grpc://127.0.0.1:" + flight,
		},
		ports:   strings.NewReplacer("8815", flight, "8816", web),
		unports: strings.NewReplacer(flight, "8815", web, "8816"),
	}
}

// mountSmall puts a disk of smallDisk at dir, where the user may mount.
func mountSmall(t *testing.T, dir string) bool {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+smallDisk); err != nil {
		t.Logf("no disk to fill (%v): that command is skipped", err)
		return false
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return true
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// run runs a step and reports what it printed, and whether that is what the page says.
func (u *user) run(s step) ([]string, bool) {
	switch s.command {
	case "kill %1":
		out := u.stop(syscall.SIGTERM)
		return out, matches(out, s.want)
	case "kill -9 %1":
		out := u.stop(syscall.SIGKILL)
		return out, matches(out, s.want)
	}
	if s.background() {
		return u.start(s)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	cmd := u.command(ctx, s.command)
	raw, err := cmd.CombinedOutput()
	out := lines(u.unports.Replace(string(raw)))
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		out = append(out, "[it did not end]")
	case errors.As(err, &exit):
		out = append(out, fmt.Sprintf("[exit %d]", exit.ExitCode()))
	case err != nil:
		out = append(out, err.Error())
	}
	return out, matches(out, s.want)
}

func (u *user) command(ctx context.Context, text string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", "-c", u.ports.Replace(text))
	cmd.Dir, cmd.Env = u.dir, u.env
	cmd.WaitDelay = time.Second
	return cmd
}

// start starts a background command and waits until it has printed what is expected.
func (u *user) start(s step) ([]string, bool) {
	b := &background{done: make(chan struct{})}
	b.cmd = u.command(context.Background(), "exec "+strings.TrimSuffix(s.command, "&"))
	b.cmd.Stdout, b.cmd.Stderr = &b.out, &b.out
	if err := b.cmd.Start(); err != nil {
		return []string{err.Error()}, false
	}
	go func() { _ = b.cmd.Wait(); close(b.done) }()
	u.running = append(u.running, b)
	for end := time.Now().Add(patient); ; time.Sleep(20 * time.Millisecond) {
		out := lines(u.unports.Replace(b.out.String()))
		if matches(out, s.want) && len(out) > 0 {
			return out, true
		}
		select {
		case <-b.done:
			return append(out, "[it ended]"), false
		default:
		}
		if *rewrite && len(out) > 0 || time.Now().After(end) {
			time.Sleep(time.Second)
			return lines(u.unports.Replace(b.out.String())), false
		}
	}
}

// stop sends the last background command a signal, waits for its end, and returns
// what it printed meanwhile.
func (u *user) stop(sig syscall.Signal) []string {
	if len(u.running) == 0 {
		return []string{"[nothing runs]"}
	}
	b := u.running[len(u.running)-1]
	u.running = u.running[:len(u.running)-1]
	before := len(b.out.String())
	b.end(sig)
	return lines(u.unports.Replace(b.out.String()[before:]))
}

func (b *background) end(sig syscall.Signal) {
	_ = b.cmd.Process.Signal(sig)
	select {
	case <-b.done:
	case <-time.After(patient):
		_ = b.cmd.Process.Kill()
		<-b.done
	}
}

func (u *user) endAll() {
	for _, b := range u.running {
		b.end(syscall.SIGTERM)
	}
	u.running = nil
}
