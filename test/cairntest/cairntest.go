// Package cairntest runs the built cairn program as a child process of a test.
// The program is CAIRN_BINARY, or built once per test binary, with the race
// detector if the test has it. Main, to be called by TestMain, removes it.
package cairntest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
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
	startTimeout = 90 * time.Second
	stopTimeout  = 90 * time.Second
)

// Main runs the tests of m, removes the built binary and returns the exit code.
func Main(m *testing.M) int {
	code := m.Run()
	if err := RemoveProgram(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

var buildDirectory string // of the built program; empty before Build

// Build returns the path of the program: CAIRN_BINARY, or else the module's
// program, which the first call builds.
var Build = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("CAIRN_BINARY"); path != "" {
		return path, nil
	}
	directory, err := os.MkdirTemp("", "cairn-test-")
	if err != nil {
		return "", err
	}
	buildDirectory = directory
	path := filepath.Join(directory, "cairn")
	return path, BuildTo(path)
})

// BuildTo builds the program at an absolute path, with further flags of "go build",
// and with the race detector if the test has it. It builds in the directory of the main
// module, because a nested module can select other versions of the dependencies.
func BuildTo(path string, flags ...string) error {
	root, err := MainModule()
	if err != nil {
		return err
	}
	// Linking without symbol tables, which only debuggers use, takes half the time.
	args := append([]string{"build", "-C", root, "-ldflags=-s -w", "-o", path}, flags...)
	if raceEnabled() {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, "cairn/deploy/cairn")...).CombinedOutput(); err != nil {
		return fmt.Errorf("build cairn: %w\n%s", err, out)
	}
	return nil
}

// MainModule returns the directory of the main module.
func MainModule() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "cairn").Output()
	if err != nil {
		return "", fmt.Errorf("find module cairn: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// RemoveProgram removes the program that Build built, if any.
func RemoveProgram() error {
	if buildDirectory == "" {
		return nil
	}
	return os.RemoveAll(buildDirectory)
}

// Program returns the path of the program, and ends the test if Build fails.
func Program(t testing.TB) string {
	t.Helper()
	path, err := Build()
	if err != nil {
		t.Fatal(err)
	}
	return path
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

// Process is a started process, usually of cairn.
type Process struct {
	Cmd    *exec.Cmd
	Stdout *Output
	Stderr *Output // the log
	exited chan struct{}
	err    error // of Start or Wait; set before exited is closed
}

// Command returns a cairn command with a minimal environment and the given
// variables.
func Command(program string, env []string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.TempDir(), "GORACE=" + os.Getenv("GORACE"),
	}, env...)
	return cmd
}

// Launch starts cmd, captures its output and returns immediately. The caller must
// call Wait, Stop or Kill. A command that cannot be started is reported as one
// that has exited.
func Launch(cmd *exec.Cmd) *Process {
	p := &Process{Cmd: cmd, Stdout: newOutput(), Stderr: newOutput(), exited: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p.Stdout, p.Stderr
	if p.err = cmd.Start(); p.err != nil {
		close(p.exited)
		return p
	}
	go func() {
		defer close(p.exited)
		p.err = cmd.Wait()
	}()
	return p
}

// Up runs "cairn up" on free ports and an empty data directory, with further flags,
// and returns when it serves. A later flag overrides an earlier one.
func Up(t testing.TB, flags ...string) *Process {
	t.Helper()
	return Start(t, nil, UpArgs(t, flags...)...)
}

// UpArgs returns the arguments of the command that Up runs.
func UpArgs(t testing.TB, flags ...string) []string {
	t.Helper()
	return append([]string{"up", "--http", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0",
		"--data", filepath.Join(t.TempDir(), "data"), "--model", "offline:"}, flags...)
}

// Start runs a serving cairn command with variables added to a minimal
// environment, and returns when it has printed its first line. The process is
// stopped with the test.
func Start(t testing.TB, env []string, args ...string) *Process {
	t.Helper()
	return StartCommand(t, Command(Program(t), env, args...))
}

// StartCommand is Start for a command that runs cairn in an environment of its own.
func StartCommand(t testing.TB, cmd *exec.Cmd) *Process {
	t.Helper()
	p := Launch(cmd)
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := p.WaitReady(); err != nil {
		t.Fatal(err)
	}
	return p
}

// WaitReady returns when the process has printed its first line, which cairn
// does when it serves. A process that exits first is an error.
func (p *Process) WaitReady() error {
	select {
	case <-p.Stdout.firstLine:
		return nil
	case <-p.exited:
		return p.failure("exited before it was ready: %w", cmp.Or(p.err, errNoOutput))
	case <-time.After(startTimeout):
		return p.failure("not ready after %s: %w", startTimeout, errNoOutput)
	}
}

// Ready reports whether the process has printed its first line.
func (p *Process) Ready() bool {
	select {
	case <-p.Stdout.firstLine:
		return true
	default:
		return false
	}
}

var errNoOutput = errors.New("no output")

// failure adds the command and its log to an error.
func (p *Process) failure(format string, args ...any) error {
	return fmt.Errorf("%s: %w\n%s", p.Cmd, fmt.Errorf(format, args...), p.Stderr)
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
		if match := pattern.FindString(p.Stdout.String()); match != "" {
			return match
		}
		select {
		case <-p.exited:
			return pattern.FindString(p.Stdout.String())
		case <-tick.C:
		}
	}
	return ""
}

// Kill sends SIGKILL and waits for the process. Wait and Stop then return nil.
func (p *Process) Kill() {
	if p.Cmd.Process != nil {
		_ = p.Cmd.Process.Kill() // fails on a process that has exited
	}
	<-p.exited
	p.err = nil
}

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Terminate sends SIGTERM as soon as the process is ready, which is when it
// handles signals.
func (p *Process) Terminate() {
	if p.WaitReady() == nil {
		_ = p.Cmd.Process.Signal(syscall.SIGTERM) // fails on a process that has exited
	}
}

// Wait waits for the process and kills it after stopTimeout. It returns an error if the
// process was killed or had an exit code other than 0, as after a detected race.
func (p *Process) Wait() error {
	select {
	case <-p.exited:
	case <-time.After(stopTimeout):
		p.Kill()
		return p.failure("killed: still running after %s", stopTimeout)
	}
	if p.err != nil {
		return p.failure("%w", p.err)
	}
	return nil
}

// Stop sends SIGTERM and waits for the process, as Wait does.
func (p *Process) Stop() error {
	p.Terminate()
	return p.Wait()
}

// StopAll sends SIGTERM to all processes and waits for them.
func StopAll(processes []*Process) error {
	for _, p := range processes {
		p.Terminate()
	}
	var errs []error
	for _, p := range processes {
		errs = append(errs, p.Wait())
	}
	return errors.Join(errs...)
}

// Run runs a cairn command to its end and returns what it wrote to stdout and
// stderr together.
func Run(t testing.TB, env []string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), Program(t), args...)
	cmd.Env = Command("", env).Env
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// CreateKey returns the secret of a new API key that has the properties of the flags.
func CreateKey(t testing.TB, nats string, flags ...string) string {
	t.Helper()
	out, err := Run(t, nil, append([]string{"key", "create", "-o", "json", "--nats", nats}, flags...)...)
	var created struct{ Key string }
	if err = cmp.Or(err, json.Unmarshal([]byte(out), &created)); err != nil || created.Key == "" {
		t.Fatalf("create a key: %v\n%s", err, out)
	}
	return created.Key
}

// Get returns the status and the body of the response.
func Get(t testing.TB, url string) (status int, body string) {
	t.Helper()
	return Request(t, http.MethodGet, url, "")
}

// Request sends a body of JSON, and returns the status and the body of the response.
func Request(t testing.TB, method, url, body string) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// Output collects the output of a process. It may be used concurrently.
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
