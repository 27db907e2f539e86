package catalog_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/services/internal/catalog"
	"cairn/test/wait"
)

// startCluster starts a cluster of three servers with a log, which it opens at a server that does not lead it.
func startCluster(t *testing.T) (cluster *bustest.Cluster, leader int, c *catalog.Catalog) {
	t.Helper()
	cluster = bustest.StartCluster(t)
	eventually(t, func() (*catalog.Catalog, error) {
		return catalog.Setup(t.Context(), cluster.Conns[0].JetStream(), bucket.Replication{Replicas: 3})
	})
	leader = cluster.Leader(t, catalog.Stream)
	c, err := catalog.Open(testContext(t), cluster.Conns[(leader+1)%3].JetStream())
	if err != nil {
		t.Fatal(err)
	}
	return cluster, leader, c
}

// eventually retries do until it succeeds, for calls that fail during a leader election.
func eventually[T any](t *testing.T, do func() (T, error)) T {
	t.Helper()
	ctx := testContext(t)
	for {
		v, err := do()
		if err == nil {
			return v
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

// TestWritesDuringLeaderElection isolates the stream leader during concurrent writes: each one
// is stored once, however often it was sent.
func TestWritesDuringLeaderElection(t *testing.T) {
	t.Parallel()
	cluster, leader, c := startCluster(t)
	var writes sync.WaitGroup
	var stored atomic.Int64
	isolated := make(chan struct{})
	for worker := range 64 { // enough for batches
		writes.Go(func() {
			for n, after := 0, 0; after < 2 && !t.Failed(); n++ {
				if _, err := c.Put(testContext(t), skill(n*64+worker), record); err != nil {
					t.Errorf("write: %v", err)
				}
				stored.Add(1)
				select {
				case <-isolated:
					after++ // the first one may have been answered before
				default:
				}
			}
		})
	}
	wait.Until(t, "records are written", func() bool { return stored.Load() >= 200 })
	cluster.Isolate(leader)
	close(isolated)
	writes.Wait()
	last := eventually(t, func() (uint64, error) { return c.Revision(testContext(t)) })
	if want := uint64(stored.Load()); last != want {
		t.Errorf("the last revision is %d after %d writes", last, want)
	}
}

// TestLeaderShutdown shuts down the stream leader: acknowledged writes are
// readable and replayed from the remaining servers.
func TestLeaderShutdown(t *testing.T) {
	t.Parallel()
	cluster, leader, c := startCluster(t)
	view, ready := following(t, c)
	<-ready
	for n := range 50 {
		put(t, c, n, "before")
	}
	cluster.Nodes[leader].Stop()
	got := eventually(t, func() (catalog.Revision, error) { return c.Get(shortContext(t), skill(49)) })
	if string(got.Record) != "before" {
		t.Errorf("last acknowledged record: %q", got.Record)
	}
	revision := eventually(t, func() (uint64, error) { return c.Put(shortContext(t), skill(50), []byte("after")) })
	waitApplied(t, view, revision)
	if got := len(contents(view)); got != 51 {
		t.Errorf("%d records applied, want 51", got)
	}
}
