package natsserver_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/bus/natsserver"
)

// nodes are the servers of a cluster and their data directories.
type nodes struct {
	t        *testing.T
	routes   []string
	dirs     []string
	settings func(*natsserver.Cluster)
	servers  []*natsserver.Server
}

func newNodes(t *testing.T) *nodes {
	n := &nodes{t: t, servers: make([]*natsserver.Server, 3)}
	for range 3 {
		n.routes, n.dirs = append(n.routes, bustest.FreeAddress(t)), append(n.dirs, t.TempDir())
	}
	t.Cleanup(func() {
		for i := range n.servers {
			n.stop(i)
		}
	})
	return n
}

func (n *nodes) stop(i int) {
	if n.servers[i] != nil {
		n.servers[i].Stop()
		n.servers[i] = nil
	}
}

// start starts the node and returns a connection to it.
func (n *nodes) start(i int) *bus.Conn {
	n.t.Helper()
	c := natsserver.Cluster{Name: "c", Listen: n.routes[i], Routes: n.routes, Secret: "s"}
	if n.settings != nil {
		n.settings(&c)
	}
	server, err := natsserver.StartNode(n.dirs[i], "127.0.0.1:0", c)
	if err != nil {
		n.t.Fatal(err)
	}
	n.servers[i] = server
	conn, err := server.Open(n.t.Name())
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(conn.Close)
	return conn
}

// startAll starts all nodes.
func (n *nodes) startAll() (conns []*bus.Conn) {
	n.t.Helper()
	for i := range n.servers {
		conns = append(conns, n.start(i))
	}
	return conns
}

func bucketOf(t *testing.T, conn *bus.Conn, replicas int) jetstream.KeyValue {
	t.Helper()
	var kv jetstream.KeyValue
	bustest.Until(t, "make a bucket", func(ctx context.Context) (err error) {
		kv, err = conn.JetStream().CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "b", Replicas: replicas})
		return err
	})
	return kv
}

func TestClusterToleratesOneLostNode(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	conns := n.startAll()
	kv := bucketOf(t, conns[0], 3)
	if _, err := kv.PutString(t.Context(), "a", "before"); err != nil {
		t.Fatal(err)
	}
	n.stop(2)
	bustest.Until(t, "write with two nodes", func(ctx context.Context) error {
		_, err := kv.PutString(ctx, "b", "after")
		return err
	})
	bustest.Until(t, "the missing node is reported", func(context.Context) error {
		if problem, quorum := n.servers[0].Problem(); !quorum || problem != "2 of 3 nodes of the cluster are connected" {
			return errors.New(problem)
		}
		return nil
	})
	n.stop(1)
	bustest.Until(t, "the lost quorum is reported", func(context.Context) error {
		if problem, quorum := n.servers[0].Problem(); quorum || !strings.HasPrefix(problem, "no quorum: 1 of 3") {
			return errors.New(problem)
		}
		return nil
	})
	n.start(1)
	back := bucketOf(t, n.start(2), 3)
	bustest.Until(t, "read the written value", func(ctx context.Context) error {
		_, err := back.Get(ctx, "b")
		return err
	})
}

// A suspended node closes no connection.
func TestSuspendedNodeIsDisconnected(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	to0, cut0, mend0 := bustest.Link(t, n.routes[0])
	to1, cut1, mend1 := bustest.Link(t, n.routes[1])
	n.settings = func(c *natsserver.Cluster) {
		c.Routes, c.Advertise = []string{to0, n.routes[2]}, "127.0.0.1:1"
		if c.Listen == n.routes[0] {
			c.Routes[0] = to1
		}
	}
	n.start(0)
	n.start(1)
	connected := func(want string) func(context.Context) error {
		return func(context.Context) error {
			if problem, _ := n.servers[0].Problem(); !strings.Contains(problem, want+" of 3 nodes") {
				return errors.New(problem)
			}
			return nil
		}
	}
	bustest.Until(t, "two nodes connect", connected("2"))
	cut0()
	cut1()
	bustest.Until(t, "the suspended node is disconnected", connected("1"))
	mend0()
	mend1()
	bustest.Until(t, "the node reconnects", connected("2"))
}

func TestNodeReportsMissingQuorum(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	n.start(0)
	const want = "no quorum: 1 of 3 nodes of the cluster are connected"
	if problem, quorum := n.servers[0].Problem(); quorum || problem != want {
		t.Errorf("one node: %q, quorum %v, want %q", problem, quorum, want)
	}
}

// Each kind of server refuses the directory of the other: a node would delete the streams.
func TestDirectoryOfAnotherKind(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	server, err := natsserver.Start(n.dirs[0], "")
	bustest.Must(t, err)
	bucketOf(t, bustest.Dial(t, server), 1)
	server.Stop()
	_, err = natsserver.StartNode(n.dirs[0], "127.0.0.1:0",
		natsserver.Cluster{Name: "c", Listen: n.routes[0], Routes: n.routes})
	if err == nil || !strings.Contains(err.Error(), "restore a backup") {
		t.Errorf("a node in the directory of a stand-alone server: %v", err)
	}
	n.start(1)
	n.stop(1)
	if _, err := natsserver.Start(n.dirs[1], ""); err == nil {
		t.Error("a stand-alone server starts in the directory of a node")
	}
}

func TestInvalidNodeConfiguration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good := natsserver.Cluster{Name: "c", Node: "a", Listen: "127.0.0.1:0", Routes: []string{"nats://127.0.0.1:1"}}
	server, err := natsserver.StartNode(dir, "127.0.0.1:0", good)
	bustest.Must(t, err)
	server.Stop()
	for name, change := range map[string]func(*natsserver.Cluster){
		"another name":           func(c *natsserver.Cluster) { c.Node = "b" },
		"no routes":              func(c *natsserver.Cluster) { c.Routes = nil },
		"a route without a host": func(c *natsserver.Cluster) { c.Routes = []string{"nats://u:hush@"} },
		"no address":             func(c *natsserver.Cluster) { c.Listen = "here" },
	} {
		bad := good
		change(&bad)
		if _, err := natsserver.StartNode(dir, "127.0.0.1:0", bad); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRouteWithoutTheSecretIsRefused(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	n.start(0)
	nc, err := nats.Connect("nats://" + n.routes[0])
	if err == nil {
		nc.Close()
		t.Error("a client connects to the route port")
	}
	n.settings = func(c *natsserver.Cluster) { c.Secret = "wrong" }
	n.start(1)
	brief, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	for brief.Err() == nil {
		// A route counts as connected until it is refused.
		if problem, quorum := n.servers[0].Problem(); quorum {
			t.Fatalf("a node with another secret: %s", problem)
		}
	}
}
