// Package cairntest runs the built cairn program as a child process of a test.
// The program is built once per test binary, with the race detector if the test
// has it. Use Main as the package's TestMain, which removes the program.
package cairntest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	startTimeout = time.Minute
	stopTimeout  = 40 * time.Second
)

// Main runs the tests of m, removes the built program and returns the exit code.
func Main(m *testing.M) int {
	code := m.Run()
	if folder := program.folder; folder != "" {
		if err := os.RemoveAll(folder); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}

var program struct {
	once   sync.Once
	folder string
	path   string
	err    error
}

// Program returns the path of the built program.
func Program(t testing.TB) string {
	t.Helper()
	program.once.Do(func() {
		if program.folder, program.err = os.MkdirTemp("", "cairn-test-"); program.err != nil {
			return
		}
		program.path = filepath.Join(program.folder, "cairn")
		args := []string{"build", "-o", program.path}
		if raceEnabled() {
			args = append(args, "-race")
		}
		if out, err := exec.Command("go", append(args, "cairn/deploy/cairn")...).CombinedOutput(); err != nil {
			program.err = fmt.Errorf("build cairn: %w\n%s", err, out)
		}
	})
	if program.err != nil {
		t.Fatal(program.err)
	}
	return program.path
}

func raceEnabled() bool {
	info, _ := debug.ReadBuildInfo()
	for _, s := range info.Settings {
		if s.Key == "-race" {
			return s.Value == "true"
		}
	}
	return false
}

// Process is a running cairn process. It is stopped with the test.
type Process struct {
	Cmd    *exec.Cmd
	Stdout *Output
	Stderr *Output // the log
	exited chan struct{}
	err    error // of Wait, once exited is closed
}

// Up runs "cairn up" on free ports and an empty data folder, with further flags,
// and returns when it serves. A later flag overrides an earlier one.
func Up(t testing.TB, flags ...string) *Process {
	t.Helper()
	return Start(t, nil, append([]string{"up", "--http", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0",
		"--data", filepath.Join(t.TempDir(), "data"), "--model", "offline:"}, flags...)...)
}

// Start runs a serving cairn command with variables added to a minimal
// environment, and returns when it has printed its first line.
func Start(t testing.TB, env []string, args ...string) *Process {
	t.Helper()
	p := &Process{Cmd: exec.Command(Program(t), args...), Stdout: newOutput(), Stderr: newOutput(), exited: make(chan struct{})}
	p.Cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.TempDir()}, env...)
	p.Cmd.Stdout, p.Cmd.Stderr = p.Stdout, p.Stderr
	if err := p.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.exited)
		p.err = p.Cmd.Wait()
	}()
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Errorf("%s: %v\n%s", p.Cmd, err, p.Stderr)
		}
	})
	select {
	case <-p.Stdout.firstLine:
	case <-p.exited:
		t.Fatalf("%s ended: %v\n%s", p.Cmd, p.err, p.Stderr)
	case <-time.After(startTimeout):
		t.Fatalf("%s printed nothing\n%s", p.Cmd, p.Stderr)
	}
	return p
}

var (
	httpAddress = regexp.MustCompile(`https?://[0-9.:]+`)
	natsAddress = regexp.MustCompile(`(nats|tls)://[^\s]+`)
)

// URL is the address of the HTTP edge that the process prints.
func (p *Process) URL() string { return p.printed(httpAddress) }

// NATS is the address of the embedded NATS server that the process prints.
func (p *Process) NATS() string { return p.printed(natsAddress) }

// printed returns the first match in the output, and waits for it; empty when the
// process prints none. The lines of a report may arrive one by one.
func (p *Process) printed(pattern *regexp.Regexp) string {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); {
		if found := pattern.FindString(p.Stdout.String()); found != "" {
			return found
		}
		select {
		case <-p.exited:
			return pattern.FindString(p.Stdout.String())
		case <-tick.C:
		}
	}
	return ""
}

// Kill ends the process with SIGKILL and waits for it.
func (p *Process) Kill() {
	_ = p.Cmd.Process.Kill() // it may have ended already
	<-p.exited
	p.err = nil
}

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Stop sends SIGTERM and waits for the end. The error is that of the process,
// such as an exit code other than 0, or that it had to be killed.
func (p *Process) Stop() error {
	_ = p.Cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	select {
	case <-p.exited:
		return p.err
	case <-time.After(stopTimeout):
		p.Kill()
		return errors.New("killed: it did not end after SIGTERM")
	}
}

// Run runs a cairn command to its end and returns what it wrote to stdout and
// stderr together.
func Run(t testing.TB, env []string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), Program(t), args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.TempDir()}, env...)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// Output collects what a process writes. It may be used concurrently.
type Output struct {
	mu        sync.Mutex
	b         bytes.Buffer
	firstLine chan struct{}
}

func newOutput() *Output { return &Output{firstLine: make(chan struct{})} }

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := bytes.IndexByte(o.b.Bytes(), '\n')
	o.b.Write(p)
	if before < 0 && bytes.IndexByte(o.b.Bytes(), '\n') >= 0 {
		close(o.firstLine)
	}
	return len(p), nil
}

// String returns all that was written so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}
