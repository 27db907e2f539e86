package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// startTime is the most that a process may take to say where it listens.
	startTime = 20 * time.Second
	// stopTime is the most that it may take to end, before it is killed.
	stopTime = 20 * time.Second
)

// built is the binary under test, made once for all benchmarks.
var built struct {
	once   sync.Once
	folder string
	path   string
	err    error
}

// binary is the path of cairn: CAIRN_BINARY, or built from this tree.
func binary(b *testing.B) string {
	b.Helper()
	built.once.Do(func() {
		if built.path = os.Getenv("CAIRN_BINARY"); built.path != "" {
			return
		}
		if built.folder, built.err = os.MkdirTemp("", "cairn-bench-"); built.err != nil {
			return
		}
		built.path = filepath.Join(built.folder, "cairn")
		if out, err := exec.Command("go", "build", "-o", built.path, "cairn/deploy/cairn").CombinedOutput(); err != nil {
			built.err = fmt.Errorf("build cairn: %w\n%s", err, out)
		}
	})
	must(b, built.err)
	return built.path
}

// server is something that serves HTTP, in processes of its own.
type server struct {
	at   string // host:port
	pids []int
}

// work is the processor time that the server has taken so far, in
// microseconds. Other work on the machine lengthens all times but this.
func (s server) work(b *testing.B) float64 {
	b.Helper()
	ticks := 0
	for _, pid := range s.pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		must(b, err)
		_, fields, _ := strings.Cut(string(stat), ") ")
		for _, field := range strings.Fields(fields)[11:13] { // in user mode, in the kernel
			n, err := strconv.Atoi(field)
			must(b, err)
			ticks += n
		}
	}
	return float64(ticks) * 1e6 / 100 // Linux counts hundredths of a second
}

// up starts "cairn up" on an empty folder, with more flags. It stops with the
// benchmark.
func up(b *testing.B, flags ...string) server {
	b.Helper()
	return start(b, upCommand(b, "127.0.0.1:0", flags...))
}

func upCommand(b *testing.B, http string, flags ...string) *exec.Cmd {
	b.Helper()
	return exec.Command(binary(b), append([]string{"up", "--http", http, "--nats-listen", "127.0.0.1:0",
		"--data", filepath.Join(b.TempDir(), "data"), "--model", "offline:"}, flags...)...)
}

// address is where a process says that it serves HTTP.
var address = regexp.MustCompile(`http://([0-9.]+:[0-9]+)`)

// start runs the command until the benchmark ends; it serves at the first
// address that it prints.
func start(b *testing.B, cmd *exec.Cmd) server {
	b.Helper()
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	must(b, err)
	must(b, cmd.Start())
	said := make(chan string, 1)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(said)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if m := address.FindStringSubmatch(lines.Text()); m != nil && len(said) == 0 {
				said <- m[1]
			}
		}
		_, _ = io.Copy(io.Discard, out) // ends with the process
	})
	b.Cleanup(func() {
		stop(cmd)
		reading.Wait()
		_ = cmd.Wait() // how it ended is not what is measured
	})
	select {
	case at, ok := <-said:
		if ok {
			return server{at, []int{cmd.Process.Pid}}
		}
		b.Fatalf("%s ended: %s", cmd.Path, complaints.String())
	case <-time.After(startTime):
		b.Fatalf("%s did not say where it listens", cmd.Path)
	}
	return server{}
}

// end stops a process and waits for that.
func end(cmd *exec.Cmd) {
	stop(cmd)
	_ = cmd.Wait() // how it ended is not what is measured
}

// stop asks the process to end; one that does not is killed.
func stop(cmd *exec.Cmd) {
	_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	time.AfterFunc(stopTime, func() { _ = cmd.Process.Kill() })
}
