package bus

import (
	"fmt"
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

// elections is why no server can be started.
var elections error

// Before any server reads them. Whoever starts none can do without.
func init() {
	if elections = asKnown(minElectionTimeout, maxElectionTimeout, hbInterval); elections == nil {
		minElectionTimeout, maxElectionTimeout, hbInterval = 1200*time.Millisecond, 2200*time.Millisecond, 300*time.Millisecond
	}
}

// asKnown says what is wrong when the defaults are others than those that are
// changed here: then the server may elect in another way.
func asKnown(least, most, beat time.Duration) error {
	if least == 4*time.Second && most == 9*time.Second && beat == time.Second {
		return nil
	}
	return fmt.Errorf("nats-server elects in another way now (%v to %v, a heartbeat each %v): see what bus/election.go changes", least, most, beat)
}
