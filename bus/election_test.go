package bus_test

import (
	"strings"
	"testing"
	"time"

	"cairn/bus"
)

// Unknown defaults of nats-server prevent a server from starting, and do not panic.
func TestUnknownElectionDefaults(t *testing.T) {
	t.Parallel()
	if err := bus.AsKnown(4*time.Second, 9*time.Second, time.Second); err != nil {
		t.Error(err)
	}
	for _, d := range [][3]time.Duration{{5 * time.Second, 9 * time.Second, time.Second}, {4 * time.Second, 8 * time.Second, time.Second},
		{4 * time.Second, 9 * time.Second, 0}} {
		if err := bus.AsKnown(d[0], d[1], d[2]); err == nil || !strings.Contains(err.Error(), "bus/election.go") {
			t.Errorf("%v: %v", d, err)
		}
	}
}
