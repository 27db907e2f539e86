package main

import (
	"errors"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
)

// process is a process of a cluster that can be killed and started again. All methods but
// starts are for one goroutine.
type process struct {
	name    string
	command func() *exec.Cmd
	log     string       // path of the file for its output
	starts  atomic.Int64 // number of starts
	running *exec.Cmd    // nil: not running
	output  *os.File
}

// start starts the process. It must not be running.
func (p *process) start() error {
	output, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	cmd := p.command()
	cmd.Stdout, cmd.Stderr = output, output
	p.starts.Add(1)
	if err := cmd.Start(); err != nil {
		return errors.Join(err, output.Close())
	}
	p.running, p.output = cmd, output
	return nil
}

// kill sends SIGKILL to the process, if it is running, and waits for its end.
func (p *process) kill() { p.end(syscall.SIGKILL) }

// stop sends SIGTERM to the process, if it is running, and waits for its end.
func (p *process) stop() { p.end(syscall.SIGTERM) }

func (p *process) end(signal syscall.Signal) {
	if p.running == nil {
		return
	}
	_ = p.running.Process.Signal(signal) // fails if it has already exited
	_ = p.running.Wait()                 // reports the signal
	_ = p.output.Close()
	p.running = nil
}

// suspend stops the execution of the process until resume.
func (p *process) suspend() error { return p.running.Process.Signal(syscall.SIGSTOP) }

// resume continues a node that was suspended for faultTime, which starts again.
func (p *process) resume() error {
	p.starts.Add(1)
	return p.running.Process.Signal(syscall.SIGCONT)
}
