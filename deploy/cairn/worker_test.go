package main

import (
	"testing"
)

// TestWorkerRepeatedRole checks that a worker runs a repeated role once: only one
// service of a role is drained.
func TestWorkerRepeatedRole(t *testing.T) {
	t.Parallel()
	_, nats := reached(t)
	p := begin(t, program("worker", "tags", "resolve", "tags", "--nats", nats))
	p.waitForOutput(t, ": tags, resolve on "+nats)
	p.signal(t)
	if code := p.waitExit(t); code != 0 {
		t.Errorf("exit code %d\n%s", code, p.output())
	}
}
