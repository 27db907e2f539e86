package bus

import (
	"time"
	_ "unsafe" // for go:linkname

	_ "github.com/nats-io/nats-server/v2/server" // whose variables these are
)

// A server waits 4 to 9 s without its leader before it stands for election, and
// has no setting for that (nats-server, raft.go). Nothing is written meanwhile.
// What is too short costs elections that nobody needed, never what was
// acknowledged. All nodes of a cluster should have the same.
//
//go:linkname minElectionTimeout github.com/nats-io/nats-server/v2/server.minElectionTimeout
//go:linkname maxElectionTimeout github.com/nats-io/nats-server/v2/server.maxElectionTimeout
//go:linkname hbInterval github.com/nats-io/nats-server/v2/server.hbInterval
var minElectionTimeout, maxElectionTimeout, hbInterval time.Duration

// Before any server reads them.
func init() {
	if minElectionTimeout != 4*time.Second || maxElectionTimeout != 9*time.Second || hbInterval != time.Second {
		panic("nats-server elects in another way now: see what bus/election.go changes")
	}
	minElectionTimeout, maxElectionTimeout, hbInterval = 1200*time.Millisecond, 2200*time.Millisecond, 300*time.Millisecond
}
