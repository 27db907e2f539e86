package test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"cairn/edge/access"
)

// apart runs the built program, a process for each part, around a NATS server.
func apart(c setup) (*system, error) {
	program, err := build()
	if err != nil {
		return nil, err
	}
	s, err := serverOf(c)
	if err != nil {
		return nil, err
	}
	s.halt = s.terminate
	if err := s.launch(program, c); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// launch starts all processes at once and returns when they serve.
func (s *system) launch(program string, c setup) error {
	workers := c.workers
	if workers == nil {
		workers = [][]string{nil}
	}
	if c.idle {
		workers = nil
	}
	for _, roles := range workers {
		args := append([]string{"worker", "--nats", s.nats, "--model", modelURL(c), "--render", c.render}, roles...)
		if c.index != "" {
			args = append(args, "--index", c.index)
		}
		if c.embed != "" {
			args = append(args, "--embed", c.embed)
		}
		if c.tagTTL > 0 {
			args = append(args, "--tag-ttl", c.tagTTL.String())
		}
		if c.grace > 0 {
			args = append(args, "--analyze-grace", c.grace.String())
		}
		s.workers = append(s.workers, launch(program, args...))
	}
	args := []string{"edge", "--nats", s.nats, "--http", "127.0.0.1:0"}
	if c.keys {
		args = append(args, "--auth", "keys")
	}
	if c.limits != (access.Limits{}) {
		args = append(args, "--rate-limit", fmt.Sprint(c.limits.Rate), "--stream-limit", fmt.Sprint(c.limits.Streams))
	}
	s.edges = append(s.edges, launch(program, args...))
	if c.patience > 0 {
		s.edges = append(s.edges, launch(program, append(args, "--analyze-timeout", c.patience.String())...))
	}
	for _, p := range append(s.edges[:len(s.edges):len(s.edges)], s.workers...) {
		if err := p.served(); err != nil {
			return err
		}
	}
	s.edge = s.edges[0].address()
	if c.patience > 0 {
		s.impatient = s.edges[1].address()
	}
	return nil
}

// terminate ends the edges, then the workers, as one who knows does.
func (s *system) terminate() error {
	return errors.Join(terminated(s.edges), terminated(s.workers))
}

func terminated(list []*process) error {
	var errs []error
	for _, p := range list {
		p.signal()
	}
	for _, p := range list {
		errs = append(errs, p.ended())
	}
	return errors.Join(errs...)
}

// process is a cairn process.
type process struct {
	cmd    *exec.Cmd
	out    output
	errOut output
	exited chan struct{} // closed when the process has ended, and err is set
	err    error
}

// launch starts the program. That it could not be started is an end like another.
func launch(program string, args ...string) *process {
	p := &process{cmd: exec.Command(program, args...), exited: make(chan struct{})}
	p.out.line, p.errOut.line = make(chan struct{}), make(chan struct{})
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.TempDir()}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.errOut
	go func() {
		defer close(p.exited)
		p.err = p.cmd.Run()
	}()
	return p
}

// served returns when the process has said that it serves.
func (p *process) served() error {
	select {
	case <-p.out.line:
		return nil
	case <-p.exited:
		return p.ended()
	case <-time.After(time.Minute):
		return fmt.Errorf("%s: says nothing\n%s", p.cmd, p.errOut.String())
	}
}

// serves reports whether the process has said that it serves.
func (p *process) serves() bool {
	select {
	case <-p.out.line:
		return true
	default:
		return false
	}
}

var addressed = regexp.MustCompile(`http://[0-9.:]+`)

func (p *process) address() string { return addressed.FindString(p.out.String()) }

func (p *process) signal() { p.send(syscall.SIGTERM) }

// send sends a signal, unless the process has not come to life or is over.
func (p *process) send(sig os.Signal) {
	select {
	case <-p.out.line:
		_ = p.cmd.Process.Signal(sig) // one that is over needs no signal
	case <-p.exited:
	}
}

// ended waits until the process is over. Only a code of 0 is no error: a race
// that was detected has another.
func (p *process) ended() error {
	select {
	case <-p.exited:
	case <-time.After(40 * time.Second):
		p.send(syscall.SIGKILL)
		<-p.exited
	}
	if p.err != nil {
		return fmt.Errorf("%s: %w\n%s", p.cmd, p.err, p.errOut.String())
	}
	return nil
}

// output is what a process has written.
type output struct {
	mu   sync.Mutex
	b    bytes.Buffer
	line chan struct{} // closed after the first line
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := bytes.IndexByte(o.b.Bytes(), '\n')
	o.b.Write(p)
	if before < 0 && bytes.IndexByte(o.b.Bytes(), '\n') >= 0 {
		close(o.line)
	}
	return len(p), nil
}

// String is all of it so far.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// build makes the program once, with the race detector if the tests have it.
var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "cairn-test-")
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "cairn")
	built = dir
	args := []string{"build", "-o", program}
	if raced() {
		args = append(args, "-race")
	}
	said, err := exec.Command("go", append(args, "cairn/deploy/cairn")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build cairn: %w\n%s", err, said)
	}
	return program, nil
})

var built string // folder of the program, once there is one

func removeProgram() error {
	if built == "" {
		return nil
	}
	return os.RemoveAll(built)
}

// raced reports whether these tests run with the race detector.
func raced() bool {
	info, _ := debug.ReadBuildInfo()
	for _, s := range info.Settings {
		if s.Key == "-race" {
			return s.Value == "true"
		}
	}
	return false
}
