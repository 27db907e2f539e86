package bucket

import (
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// LostAfter is the time without a message after which a node is lost. Nodes of a Raft
	// group send a heartbeat every second.
	LostAfter = 5 * time.Second
	// maxLag is the number of operations that a replica may be behind its leader. Under load
	// each one is behind by some for a moment: writes need a majority, not all replicas.
	maxLag = 1000
)

// ReplicaProblems describes each replica of the stream that is offline, lost, over 1,000
// operations behind the leader, joining or missing.
func ReplicaProblems(info *jetstream.StreamInfo) (list []string) {
	if info.Cluster == nil || info.Config.Replicas < 2 {
		return nil
	}
	name := "stream " + info.Config.Name
	for _, p := range info.Cluster.Replicas {
		switch {
		case p.Pending:
			list = append(list, fmt.Sprintf("%s: the replica on node %s is joining or leaving", name, p.Name))
		case p.Offline:
			list = append(list, fmt.Sprintf("%s: the replica on node %s is offline", name, p.Name))
		case !p.Current && p.Active == 0:
			list = append(list, fmt.Sprintf("%s: the replica on node %s has not been seen since the election of the leader", name, p.Name))
		case p.Lag > maxLag, !p.Current && p.Active > LostAfter:
			list = append(list, fmt.Sprintf("%s: the replica on node %s is behind: last seen %v ago, %d operations are missing", name, p.Name,
				p.Active.Round(time.Second), p.Lag))
		}
	}
	if d := info.Cluster.Desired; d != nil {
		list = append(list, name+": its nodes are being changed")
	}
	if n := 1 + len(info.Cluster.Replicas); n < info.Config.Replicas {
		list = append(list, fmt.Sprintf("%s has %d of %d replicas", name, n, info.Config.Replicas))
	}
	return list
}
