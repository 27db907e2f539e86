package tags_test

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/services/tags"
)

// startCluster starts a cluster of three servers and connects to each.
func startCluster(t *testing.T) []*bus.Conn {
	t.Helper()
	var routes []*url.URL
	for range 3 {
		routes = append(routes, &url.URL{Scheme: "nats-route", Host: bustest.FreeAddress(t)})
	}
	var servers []*server.Server
	for i, route := range routes {
		port, err := strconv.Atoi(route.Port())
		if err != nil {
			t.Fatal(err)
		}
		s, err := server.NewServer(&server.Options{
			ServerName: fmt.Sprintf("node%d", i), NoSigs: true, NoLog: true,
			Host: "127.0.0.1", Port: server.RANDOM_PORT,
			JetStream: true, StoreDir: t.TempDir(), SyncAlways: true,
			Cluster: server.ClusterOpts{Name: "tags", Host: "127.0.0.1", Port: port},
			Routes:  routes,
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Start()
		t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
		servers = append(servers, s)
	}
	waitUntil(t, 20*time.Second, func() bool {
		for _, s := range servers {
			if !s.ReadyForConnections(time.Second) || !s.JetStreamIsCurrent() {
				return false
			}
		}
		return true
	})
	var conns []*bus.Conn
	for _, s := range servers {
		conn, err := bus.Open(s.ClientURL(), t.Name())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Close)
		conns = append(conns, conn)
	}
	return conns
}

func TestReplicatedTags(t *testing.T) {
	t.Parallel()
	conns := startCluster(t)
	waitUntil(t, 20*time.Second, func() bool {
		store, err := tags.Create(t.Context(), conns[0].JetStream(), tags.Settings{Copies: bucket.Copies{Replicas: 3}})
		if err == nil {
			store.Close()
		}
		return err == nil
	})
	for _, conn := range conns {
		serveWith(t, conn, tags.Settings{}, tags.DefaultTTL) // leaves the replicas alone
	}
	info, err := conns[0].JetStream().Stream(t.Context(), "KV_"+tags.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.CachedInfo().Config.Replicas; got != 3 {
		t.Fatalf("got %d replicas, want 3", got)
	}
	for round := range 20 {
		id := fmt.Sprintf("r%d", round)
		outcomes := make([]error, 24)
		var wg sync.WaitGroup
		for i := range outcomes {
			wg.Go(func() {
				c := client{t, conns[i%3]}
				if outcomes[i] = c.write(id, fmt.Sprint(i)); outcomes[i] != nil {
					return
				}
				// From another server, as soon as the write is acknowledged.
				if _, err := (client{t, conns[(i+1)%3]}).read(id); err != nil {
					t.Errorf("read %s: %v", id, err)
				}
			})
		}
		wg.Wait()
		winners := 0
		for i, err := range outcomes {
			if err == nil {
				winners++
			} else if !errors.Is(err, schemas.ErrTagExists) {
				t.Errorf("write %d of %s: %v", i, id, err)
			}
		}
		if winners != 1 {
			t.Errorf("%s was written %d times, want once", id, winners)
		}
		if err := (client{t, conns[0]}).delete(id); err != nil {
			t.Errorf("delete %s: %v", id, err)
		}
		if _, err := (client{t, conns[1]}).read(id); !errors.Is(err, schemas.ErrTagNotFound) {
			t.Errorf("read %s after it was deleted: %v", id, err)
		}
	}
}

// TestReadersFollowReplicaChange has another worker increase the replicas: running
// readers must stop reading from a single leader.
func TestReadersFollowReplicaChange(t *testing.T) {
	t.Parallel()
	conns := startCluster(t)
	open := func(copies int) {
		waitUntil(t, 20*time.Second, func() bool {
			store, err := tags.Create(t.Context(), conns[1].JetStream(), tags.Settings{Copies: bucket.Copies{Replicas: copies}})
			if err == nil {
				store.Close()
			}
			return err == nil
		})
	}
	open(1)
	serveWith(t, conns[0], tags.Settings{}, tags.DefaultTTL)
	open(3)
	c := client{t, conns[0]}
	waitUntil(t, 20*time.Second, func() bool { err := c.write("r", "v"); return err == nil || errors.Is(err, schemas.ErrTagExists) })
	if _, err := c.read("r"); err != nil {
		t.Fatal(err)
	}
	s, err := conns[0].JetStream().Stream(t.Context(), bucket.StreamPrefix+tags.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	waitUntil(t, 5*time.Second, func() bool { // any copy answers, which may not have the fence yet
		_, err := s.GetLastMsgForSubject(t.Context(), bucket.SubjectPrefix+tags.Bucket+".=fence")
		return err == nil
	})
}
