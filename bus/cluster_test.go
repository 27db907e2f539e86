package bus_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/bus/bustest"
)

// nodes are the servers of a cluster and their data folders.
type nodes struct {
	t        *testing.T
	routes   []string
	dirs     []string
	settings func(*bus.Cluster)
	servers  []*bus.Server
}

func newNodes(t *testing.T) *nodes {
	n := &nodes{t: t, servers: make([]*bus.Server, 3)}
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
	c := bus.Cluster{Name: "c", Listen: n.routes[i], Routes: n.routes, Secret: "s"}
	if n.settings != nil {
		n.settings(&c)
	}
	server, err := bus.StartNode(n.dirs[i], "127.0.0.1:0", c)
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

// bootstrapped starts all nodes and returns when the cluster is bootstrapped.
func (n *nodes) bootstrapped() []*bus.Conn {
	n.t.Helper()
	conns := make([]*bus.Conn, 3)
	for i := range conns {
		conns[i] = n.start(i)
	}
	var all sync.WaitGroup
	for i, conn := range conns {
		all.Go(func() {
			if err := n.bootstrap(soon(n.t), i, conn); err != nil {
				n.t.Errorf("node %d: %v", i, err)
			}
		})
	}
	all.Wait()
	return conns
}

func (n *nodes) bootstrap(ctx context.Context, i int, conn *bus.Conn) error {
	stop, err := n.servers[i].Bootstrap(ctx, conn, 3, slog.New(slog.DiscardHandler))
	if err == nil {
		n.t.Cleanup(stop)
	}
	return err
}

func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// until retries an operation that a cluster may refuse temporarily.
func until(t *testing.T, what string, do func(context.Context) error) {
	t.Helper()
	ctx := soon(t)
	for {
		brief, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := do(brief)
		cancel()
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

func bucketOf(t *testing.T, conn *bus.Conn, copies int) jetstream.KeyValue {
	t.Helper()
	var kv jetstream.KeyValue
	until(t, "make a bucket", func(ctx context.Context) (err error) {
		kv, err = conn.JetStream().CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "b", Replicas: copies})
		return err
	})
	return kv
}

func TestClusterToleratesOneLostNode(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	conns := n.bootstrapped()
	kv := bucketOf(t, conns[0], 3)
	if _, err := kv.PutString(soon(t), "a", "before"); err != nil {
		t.Fatal(err)
	}
	n.stop(2)
	until(t, "write with two nodes", func(ctx context.Context) error { _, err := kv.PutString(ctx, "b", "after"); return err })
	until(t, "the missing node is noticed", func(context.Context) error {
		if says, quorum := n.servers[0].Trouble(); !quorum || says != "2 of 3 nodes of the cluster are connected" {
			return errors.New(says)
		}
		return nil
	})
	n.stop(1)
	until(t, "no quorum is noticed", func(context.Context) error {
		if says, quorum := n.servers[0].Trouble(); quorum || !strings.HasPrefix(says, "no quorum: 1 of 3") {
			return errors.New(says)
		}
		return nil
	})
	n.start(1)
	back := bucketOf(t, n.start(2), 3)
	until(t, "read what was written", func(ctx context.Context) error { _, err := back.Get(ctx, "b"); return err })
}

// A suspended node closes no connection.
func TestSuspendedNodeIsDisconnected(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	to0, cut0, mend0 := bustest.Link(t, n.routes[0])
	to1, cut1, mend1 := bustest.Link(t, n.routes[1])
	n.settings = func(c *bus.Cluster) {
		c.Routes, c.Advertise = []string{to0, n.routes[2]}, "127.0.0.1:1"
		if c.Listen == n.routes[0] {
			c.Routes[0] = to1
		}
	}
	n.start(0)
	n.start(1)
	connected := func(want string) func(context.Context) error {
		return func(context.Context) error {
			if says, _ := n.servers[0].Trouble(); !strings.Contains(says, want+" of 3 nodes") {
				return errors.New(says)
			}
			return nil
		}
	}
	until(t, "two nodes find each other", connected("2"))
	cut0()
	cut1()
	until(t, "the suspended node is disconnected", connected("1"))
	mend0()
	mend1()
	until(t, "it comes back", connected("2"))
}

func TestNodeWaitsForQuorum(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	conn := n.start(0)
	brief, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if err := n.bootstrap(brief, 0, conn); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("one node: got %v, want it to wait", err)
	}
	if says, quorum := n.servers[0].Trouble(); quorum || says != "no quorum: 1 of 3 nodes of the cluster are connected" {
		t.Errorf("one node: %q, quorum %v", says, quorum)
	}
	var bootstrapped sync.WaitGroup
	for i, conn := range []*bus.Conn{conn, n.start(1), n.start(2)} {
		bootstrapped.Go(func() {
			if err := n.bootstrap(soon(t), i, conn); err != nil {
				t.Error(err)
			}
		})
	}
	bootstrapped.Wait()
}

// alone stores values on a node's server while it is stand-alone.
func (n *nodes) alone(i int, count int) {
	n.t.Helper()
	server, err := bus.StartServer(n.dirs[i], "")
	if err != nil {
		n.t.Fatal(err)
	}
	defer server.Stop()
	conn, err := server.Open(n.t.Name())
	if err != nil {
		n.t.Fatal(err)
	}
	defer conn.Close()
	kv := bucketOf(n.t, conn, 1)
	if _, err := bucket.Setup(soon(n.t), conn.JetStream(), "ours", bucket.Copies{}, func(*jetstream.StreamConfig) {}); err != nil {
		n.t.Fatal(err)
	}
	for i := range count {
		if _, err := kv.PutString(soon(n.t), fmt.Sprint("k", i%(count-1)), fmt.Sprint(i)); err != nil {
			n.t.Fatal(err)
		}
	}
}

func TestMigrateStandAloneNode(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	n.alone(1, 100)
	conns := n.bootstrapped()
	if t.Failed() {
		return
	}
	for i, conn := range conns {
		var entry jetstream.KeyValueEntry
		until(t, "read", func(ctx context.Context) error {
			kv, err := conn.JetStream().KeyValue(ctx, "b")
			if err != nil {
				return err
			}
			entry, err = kv.Get(ctx, "k0")
			return err
		})
		if string(entry.Value()) != "99" || entry.Revision() != 100 {
			t.Errorf("node %d: %s at %d, want 99 at 100", i, entry.Value(), entry.Revision())
		}
	}
	id := idOf(t, conns[1])
	n.stop(1) // the migrated node
	if is := idOf(t, conns[0]); is != id {
		t.Errorf("without the migrated node the bucket has ID %s, want %s", is, id)
	}
	until(t, "read without the node that brought it", func(ctx context.Context) error {
		kv, err := conns[0].JetStream().KeyValue(ctx, "b")
		if err != nil {
			return err
		}
		_, err = kv.Get(ctx, "k50")
		return err
	})
	if _, err := bus.StartServer(n.dirs[1], ""); err == nil {
		t.Error("a cluster node starts stand-alone")
	}
	n.start(1) // as a cluster node again
}

// idOf returns the ID of the bucket that was created on a stand-alone node.
func idOf(t *testing.T, conn *bus.Conn) (id string) {
	t.Helper()
	until(t, "look at the bucket", func(ctx context.Context) error {
		s, err := conn.JetStream().Stream(ctx, bucket.StreamPrefix+"ours")
		if err == nil {
			id = bucket.ID(s.CachedInfo())
		}
		return err
	})
	return id
}

func TestTwoStandAloneNodesAreRefused(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	n.alone(0, 2)
	n.alone(1, 2)
	conns := []*bus.Conn{n.start(0), n.start(1), n.start(2)}
	ctx, enough := context.WithCancel(soon(t))
	refused := make(chan error, len(conns))
	for i, conn := range conns {
		go func() { refused <- n.bootstrap(ctx, i, conn) }()
	}
	if err := <-refused; err == nil || !strings.Contains(err.Error(), "alone") {
		t.Errorf("got %v, want a conflict", err)
	}
	enough()
	for range len(conns) - 1 {
		_ = <-refused // one more conflict, or the end of ctx
	}
}

func TestInvalidNodeConfiguration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good := bus.Cluster{Name: "c", Node: "a", Listen: "127.0.0.1:0", Routes: []string{"nats://127.0.0.1:1"}}
	server, err := bus.StartNode(dir, "127.0.0.1:0", good)
	if err != nil {
		t.Fatal(err)
	}
	server.Stop()
	for name, change := range map[string]func(*bus.Cluster){
		"another name":       func(c *bus.Cluster) { c.Node = "b" },
		"no routes":          func(c *bus.Cluster) { c.Routes = nil },
		"a route to nowhere": func(c *bus.Cluster) { c.Routes = []string{"nats://u:hush@"} },
		"no address":         func(c *bus.Cluster) { c.Listen = "here" },
	} {
		bad := good
		change(&bad)
		if _, err := bus.StartNode(dir, "127.0.0.1:0", bad); err == nil || strings.Contains(err.Error(), "hush") {
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
	n.settings = func(c *bus.Cluster) { c.Secret = "wrong" }
	n.start(1)
	brief, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	for brief.Err() == nil {
		// A route counts as connected until it is refused.
		if says, quorum := n.servers[0].Trouble(); quorum {
			t.Fatalf("a node with another secret: %s", says)
		}
	}
}
