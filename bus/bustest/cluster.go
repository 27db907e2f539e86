package bustest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"cairn/bus"
	"cairn/bus/natsserver"
	"cairn/test/wait"
)

// Cluster is a cluster of three nodes, a to c, with a connection to each.
type Cluster struct {
	Nodes  []*natsserver.Server
	Conns  []*bus.Conn
	listen []string   // addresses for routes
	cuts   [][]func() // of the links to and from each node
}

// StartCluster starts a cluster, which has a leader when StartCluster returns.
func StartCluster(t testing.TB) *Cluster {
	t.Helper()
	c := &Cluster{listen: []string{FreeAddress(t), FreeAddress(t), FreeAddress(t)}, cuts: make([][]func(), 3)}
	for range c.listen {
		c.start(t)
	}
	wait.Until(t, "the cluster has formed", func() bool { return !slices.ContainsFunc(c.Nodes, hasProblem) })
	return c
}

// start starts the next node.
func (c *Cluster) start(t testing.TB) {
	t.Helper()
	i := len(c.Nodes)
	// Advertised is an address without a listener, so that all routes are links.
	node := natsserver.Cluster{Name: "c", Node: string(rune('a' + i)), Listen: c.listen[i], Advertise: "127.0.0.1:1",
		Secret: "s"}
	for j := range c.listen {
		if j == i {
			continue
		}
		address, cut, _ := Link(t, c.listen[j])
		node.Routes = append(node.Routes, address)
		c.cuts[i], c.cuts[j] = append(c.cuts[i], cut), append(c.cuts[j], cut)
	}
	s, err := natsserver.StartNode(t.TempDir(), "127.0.0.1:0", node)
	Must(t, err)
	t.Cleanup(s.Stop)
	c.Nodes, c.Conns = append(c.Nodes, s), append(c.Conns, Dial(t, s))
}

// Join starts another node, the last of Nodes, and returns a connection to it.
func (c *Cluster) Join(t testing.TB) *bus.Conn {
	t.Helper()
	c.listen, c.cuts = append(c.listen, FreeAddress(t)), append(c.cuts, nil)
	c.start(t)
	return c.Conns[len(c.Conns)-1]
}

func hasProblem(s *natsserver.Server) bool { problem, _ := s.Problem(); return problem != "" }

// Leader returns the index of the node that leads the stream.
func (c *Cluster) Leader(t testing.TB, stream string) int {
	t.Helper()
	s, err := c.Conns[0].JetStream().Stream(t.Context(), stream)
	Must(t, err)
	return slices.IndexFunc(c.Nodes, func(n *natsserver.Server) bool { return n.Node() == s.CachedInfo().Cluster.Leader })
}

// Isolate cuts the node off from the others, without closing a connection, until the
// end of the test.
func (c *Cluster) Isolate(node int) {
	for _, cut := range c.cuts[node] {
		cut()
	}
}

// Until retries do, which a cluster may refuse temporarily, for at most wait.Timeout.
func Until(t testing.TB, condition string, do func(context.Context) error) {
	t.Helper()
	wait.Success(t, func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := do(ctx); err != nil {
			return fmt.Errorf("%s: %w", condition, err)
		}
		return nil
	})
}
