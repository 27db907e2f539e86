package catalog_test

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/services/internal/catalog"
	"cairn/test/wait"
)

// startCluster starts a cluster of three servers.
func startCluster(t *testing.T) []*server.Server {
	t.Helper()
	routes := ""
	var clusters []server.ClusterOpts
	for range 3 {
		address := netip.MustParseAddrPort(bustest.FreeAddress(t))
		routes += fmt.Sprintf("nats-route://%s,", address)
		clusters = append(clusters,
			server.ClusterOpts{Name: "cairn", Host: address.Addr().String(), Port: int(address.Port())})
	}
	var servers []*server.Server
	for i, cluster := range clusters {
		s, err := server.NewServer(&server.Options{
			ServerName: fmt.Sprint("n", i), Host: "127.0.0.1", Port: -1, NoSigs: true,
			JetStream: true, StoreDir: t.TempDir(), SyncAlways: true,
			Cluster: cluster, Routes: server.RoutesFromStr(routes[:len(routes)-1]),
		})
		if err != nil {
			t.Fatal(err)
		}
		servers = append(servers, s)
		s.Start()
		t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	}
	return servers
}

// connectAll connects to any of the servers.
func connectAll(t *testing.T, servers []*server.Server) jetstream.JetStream {
	t.Helper()
	urls := ""
	for _, s := range servers {
		if !s.ReadyForConnections(wait.Timeout) {
			t.Fatal("server is not ready")
		}
		urls += s.ClientURL() + ","
	}
	nc, err := nats.Connect(urls[:len(urls)-1], nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	reconnected(t, js)
	return js
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
	cluster := bustest.StartCluster(t)
	eventually(t, func() (*catalog.Catalog, error) {
		return catalog.Setup(t.Context(), cluster.Conns[0].JetStream(), bucket.Replication{Replicas: 3})
	})
	leader := cluster.Leader(t, catalog.Stream)
	c, err := catalog.Open(testContext(t), cluster.Conns[(leader+1)%3].JetStream())
	if err != nil {
		t.Fatal(err)
	}
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
	eventually(t, func() (any, error) {
		if stored.Load() < 200 {
			return nil, errors.New("few writes")
		}
		return nil, nil
	})
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
	servers := startCluster(t)
	js := connectAll(t, servers)
	c := eventually(t, func() (*catalog.Catalog, error) {
		return catalog.Setup(testContext(t), js, bucket.Replication{Replicas: 3})
	})
	view, ready := following(t, c)
	<-ready
	for n := range 50 {
		put(t, c, n, "before")
	}
	stream, err := js.Stream(testContext(t), catalog.Stream)
	if err != nil {
		t.Fatal(err)
	}
	leader := stream.CachedInfo().Cluster.Leader
	for _, s := range servers {
		if s.Name() == leader {
			s.Shutdown()
			s.WaitForShutdown()
		}
	}
	reconnected(t, js)
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
