package server

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/spf13/pflag"

	"cairn/bus/natsserver"
	"cairn/deploy/internal/flags"
)

// clusterReplicas is the default number of replicas in a cluster.
const clusterReplicas = 3

const (
	// maxSuspension is the longest time that a node may be suspended, such as by SIGSTOP: within it another node may
	// not have become the leader of its streams (nats-server, maxElectionTimeout).
	maxSuspension = 9 * time.Second
	// suspensionInterval is the interval of the checks. It is short so that a check is due before the timers of the
	// NATS server.
	suspensionInterval = 100 * time.Millisecond
)

// cluster holds the flags of a cluster node. An empty name means stand-alone.
type cluster struct{ natsserver.Cluster }

func (c *cluster) flags(f *pflag.FlagSet) {
	f.StringVar(&c.Name, "cluster", "", "`NAME` of the NATS cluster to join; empty: stand-alone server")
	f.StringSliceVar(&c.Routes, "routes", nil,
		"route `URLS` of the other nodes, such as nats://b:6222,nats://c:6222; may include this node")
	f.StringVar(&c.Listen, "cluster-listen", "127.0.0.1:6222", "listen `ADDRESS` for routes from the other nodes")
	f.StringVar(&c.Advertise, "cluster-advertise", "",
		"`ADDRESS` of this node that is advertised to the cluster; empty: --cluster-listen")
	flags.Secret(f, &c.Secret, "cluster-secret", "", "shared `SECRET` that authenticates the nodes to each other")
	f.StringVar(&c.Node, "node", "",
		"unique and permanent `NAME` of this node; empty: generated and stored in the data directory")
	f.StringSliceVar(&c.Tags, "node-tags", nil, "server `TAGS` of this node, for --placement-tags")
}

// check validates the flags.
func (c *cluster) check(insecure bool) error {
	switch {
	case c.Name == "" && len(c.Routes) > 0:
		return flags.Usage(errors.New("--routes requires --cluster"))
	case c.Name == "":
		return nil
	case len(c.Routes) == 0:
		return flags.Usage(errors.New("--cluster requires --routes to the other nodes"))
	case c.Secret != "":
		return nil
	}
	return guard("cluster-listen", c.Listen, insecure, "set --cluster-secret on all nodes, or --insecure to allow it")
}

// start starts a stand-alone server or a cluster node.
func (c *cluster) start(data, listen string, options []natsserver.Option) (*natsserver.Server, error) {
	if c.Name == "" {
		return natsserver.Start(data, listen, options...)
	}
	return natsserver.StartNode(data, listen, c.Cluster, options...)
}

// restartSuspended executes the process again when it was suspended for longer than maxSuspension, until ctx ends.
// Otherwise its NATS server would call elections of all streams, since it has heard from no leader: the leaders
// would step down, and the cluster would often wait 4 to 7 s for others.
func restartSuspended(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(suspensionInterval)
	defer tick.Stop()
	for last := time.Now(); ; last = time.Now() {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if pause := time.Since(last); pause > maxSuspension {
			log.Warn("the process was suspended and is started again", "seconds", int(pause.Seconds()))
			log.Error("restart failed", "err", executeAgain())
		}
	}
}
