package bus

import (
	"fmt"
	"time"
	_ "unsafe" // for go:linkname

	_ "github.com/nats-io/nats-server/v2/server" // owns these variables
)

// A nats-server waits 4 to 9 s without a leader before it starts an election, and
// has no option for that (raft.go); no write is acknowledged meanwhile. Timeouts that
// are too short cost superfluous elections, never acknowledged data. All nodes of a
// cluster should use the same values.
//
//go:linkname minElectionTimeout github.com/nats-io/nats-server/v2/server.minElectionTimeout
//go:linkname maxElectionTimeout github.com/nats-io/nats-server/v2/server.maxElectionTimeout
//go:linkname hbInterval github.com/nats-io/nats-server/v2/server.hbInterval
var minElectionTimeout, maxElectionTimeout, hbInterval time.Duration

// elections is the error that prevents servers from starting; nil: none.
var elections error

// init changes the timeouts before any server reads them.
func init() {
	if elections = asKnown(minElectionTimeout, maxElectionTimeout, hbInterval); elections == nil {
		minElectionTimeout, maxElectionTimeout, hbInterval = 1200*time.Millisecond, 2200*time.Millisecond, 300*time.Millisecond
	}
}

// asKnown returns an error if the defaults are not those that this file was written
// for: nats-server may then elect differently.
func asKnown(least, most, beat time.Duration) error {
	if least == 4*time.Second && most == 9*time.Second && beat == time.Second {
		return nil
	}
	return fmt.Errorf("nats-server has other election timeouts (%v to %v, heartbeat %v) than bus/election.go expects", least, most, beat)
}
