package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"cairn/test/cairntest"
)

// A clock is a file with the number of seconds by which the wall clock of the processes
// that map it is ahead. Linux has no wall clock per process, and a Go program reads the
// time without a library call that could be intercepted. So the program is built with a
// changed package time, in which Now adds the number; the monotonic clock is not changed.
type clock struct{ file string }

// clockVariable is the environment variable with the path of a clock.
const clockVariable = "ROBUSTNESS_CLOCK"

// newClock creates a clock without skew.
func newClock(file string) (clock, error) {
	c := clock{file}
	return c, os.WriteFile(file, make([]byte, 8), 0o600)
}

// set sets the skew of the clock, in whole seconds.
func (c clock) set(ahead time.Duration) error {
	f, err := os.OpenFile(c.file, os.O_WRONLY, 0) // without truncating it, since it is mapped
	if err != nil {
		return err
	}
	_, err = f.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(ahead/time.Second)), 0)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// variable returns the environment variable of a process with the clock.
func (c clock) variable() string { return clockVariable + "=" + c.file }

// clockChanges returns the changes of package time.
func clockChanges() ([]cairntest.Change, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	const read = "sec, nsec, mono := runtimeNow()\n"
	return []cairntest.Change{
		{File: filepath.Join(dir, "time.go"), Before: read + "\tif mono", After: read + "\tsec += ahead()\n\tif mono"},
		{File: filepath.Join(dir, "ahead.go"), After: aheadSource},
	}, nil
}

// buildWithClocks builds a program that reads clocks.
func buildWithClocks(program string) error {
	changes, err := clockChanges()
	if err != nil {
		return err
	}
	return cairntest.BuildChanged(program, changes)
}

// aheadSource is a file of the changed package time.
const aheadSource = `package time

import (
	"sync/atomic"
	"syscall"
	"unsafe"
)

// clock is the mapped clock; nil: the system's.
var clock = mapped()

func mapped() *int64 {
	path, ok := syscall.Getenv("` + clockVariable + `")
	if !ok {
		return nil
	}
	fd, err := syscall.Open(path, syscall.O_RDONLY, 0)
	if err != nil {
		panic("open the clock " + path + ": " + err.Error())
	}
	data, err := syscall.Mmap(fd, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic("map the clock " + path + ": " + err.Error())
	}
	return (*int64)(unsafe.Pointer(&data[0]))
}

func ahead() int64 {
	if clock == nil {
		return 0
	}
	return atomic.LoadInt64(clock)
}
`

const (
	// clockStep is the step of the clock of a node. Events of runs are stored for longer.
	clockStep = 11 * time.Second
	// workerAhead is the time by which the clock of a worker is ahead: more than the
	// lifetime of any tag.
	workerAhead = time.Hour
)

// clockStepped steps the clock of the node, and then back.
func clockStepped(ctx context.Context, c *cluster, nodes []int) error {
	clock := c.clocks[nodes[0]]
	if err := clock.set(clockStep); err != nil {
		return err
	}
	sleep(ctx, faultTime)
	return clock.set(0)
}

// workerWithWrongClock runs a further worker of tags at the node's NATS server, with a clock
// that is ahead.
func workerWithWrongClock(ctx context.Context, c *cluster, nodes []int) error {
	clock, err := newClock(filepath.Join(c.dir, "worker.clock"))
	if err != nil {
		return err
	}
	if err := clock.set(workerAhead); err != nil {
		return err
	}
	worker := process{name: "worker", log: filepath.Join(c.dir, "worker.log"), command: func() *exec.Cmd {
		// #nosec G204 -- the program is an option
		cmd := exec.Command(c.program, "worker", "tags", "--nats", "nats://"+c.natsAddr[nodes[0]],
			"--log-level", "warn")
		cmd.Env = append(append(os.Environ(), c.env...), clock.variable())
		return cmd
	}}
	if err := worker.start(); err != nil {
		return fmt.Errorf("start a worker: %w", err)
	}
	defer worker.kill()
	sleep(ctx, faultTime)
	return nil
}
