package bench

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"cairn/test/cairntest"
)

// startTime is the maximum time until a process is ready.
const startTime = 20 * time.Second

// server is an HTTP server under measurement.
type server struct {
	address string // host:port
	pids    []int
	process *cairntest.Process // nil for a server that start did not start
}

// cpuTime returns the CPU time that the server has used, in microseconds. It
// is the one measurement that other load on the machine does not distort.
func (s server) cpuTime(b *testing.B) float64 {
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
	return float64(ticks) * 1e6 / 100 // Linux counts in units of 10 ms
}

// memoryOf returns a member of the status of a process, such as VmRSS or VmHWM (the maximum of
// the RSS since its start), in bytes.
func memoryOf(b *testing.B, pid int, member string) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	must(b, err)
	for line := range strings.Lines(string(status)) {
		if kib, ok := strings.CutPrefix(line, member+":"); ok {
			n, err := strconv.ParseFloat(strings.Fields(kib)[0], 64)
			must(b, err)
			return n * 1024
		}
	}
	b.Fatalf("no %s in the status", member)
	return 0
}

// up starts "cairn up" with an empty data directory and further flags. It stops with the
// benchmark.
func up(b *testing.B, flags ...string) server {
	b.Helper()
	return start(b, upCommand(b, flags...))
}

func upCommand(b *testing.B, flags ...string) *exec.Cmd {
	b.Helper()
	return exec.Command(cairntest.Program(b), cairntest.UpArgs(b, flags...)...)
}

// start runs the command until the benchmark ends, and waits for the address
// that it prints.
func start(b *testing.B, cmd *exec.Cmd) server {
	b.Helper()
	p := launch(b, cmd)
	must(b, p.WaitReady())
	return server{strings.TrimPrefix(p.URL(), "http://"), []int{cmd.Process.Pid}, p}
}

// launch runs the command until the benchmark ends, and returns immediately.
func launch(b *testing.B, cmd *exec.Cmd) *cairntest.Process {
	b.Helper()
	p := cairntest.Launch(cmd)
	b.Cleanup(func() { _ = p.Stop() }) // the exit code is irrelevant
	return p
}
