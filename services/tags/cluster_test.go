package tags_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/services/tags"
	"cairn/test/wait"
)

// setUp creates the bucket with the number of replicas.
func setUp(t *testing.T, conn *bus.Conn, replicas int) {
	t.Helper()
	wait.Success(t, func() error {
		store, err := tags.Create(t.Context(), conn, tags.Settings{Replication: bucket.Replication{Replicas: replicas}})
		if err == nil {
			store.Close()
		}
		return err
	})
}

// TestRequestsDuringLeaderElection isolates the leader of the tags under load: requests through
// the other servers wait for its successor.
func TestRequestsDuringLeaderElection(t *testing.T) {
	t.Parallel()
	cluster := bustest.StartCluster(t)
	setUp(t, cluster.Conns[0], 3)
	leader := cluster.Leader(t, bucket.StreamPrefix+tags.Bucket)
	var loads sync.WaitGroup
	var rounds atomic.Int64
	isolated := make(chan struct{})
	for i, conn := range cluster.Conns {
		if i == leader {
			continue
		}
		serveWith(t, conn, tags.Settings{}, tags.DefaultTTL)
		for worker := range 4 {
			loads.Go(func() {
				for after, n := 0, 0; after < 2 && !t.Failed(); n++ {
					useTag(client{t, conn}, fmt.Sprintf("r%d.%d.%d", i, worker, n))
					rounds.Add(1)
					select {
					case <-isolated:
						after++ // the first one may have been answered before
					default:
					}
				}
			})
		}
	}
	wait.Until(t, "requests are answered", func() bool { return rounds.Load() > 20 })
	cluster.Isolate(leader)
	close(isolated)
	loads.Wait()
}

// useTag writes, reads and deletes a tag, each once.
func useTag(c client, id string) {
	if err := c.write(id, "p"); err != nil {
		c.t.Errorf("write %s: %v", id, err)
	}
	if _, err := c.read(id); err != nil {
		c.t.Errorf("read %s: %v", id, err)
	}
	if err := c.write(id, "q"); !errors.Is(err, schemas.ErrTagExists) {
		c.t.Errorf("write %s again: %v", id, err)
	}
	if err := c.delete(id); err != nil {
		c.t.Errorf("delete %s: %v", id, err)
	}
	if _, err := c.read(id); !errors.Is(err, schemas.ErrTagNotFound) {
		c.t.Errorf("read %s after it was deleted: %v", id, err)
	}
}

func TestReplicatedTags(t *testing.T) {
	t.Parallel()
	conns := bustest.StartCluster(t).Conns
	setUp(t, conns[0], 3)
	for _, conn := range conns {
		serveWith(t, conn, tags.Settings{}, tags.DefaultTTL) // does not change the replicas
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
		checkOneWritten(t, id, outcomes)
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
	conns := bustest.StartCluster(t).Conns
	setUp(t, conns[1], 1)
	serveWith(t, conns[0], tags.Settings{}, tags.DefaultTTL)
	setUp(t, conns[1], 3)
	c := client{t, conns[0]}
	wait.Until(t, "a tag is written", func() bool {
		err := c.write("r", "v")
		return err == nil || errors.Is(err, schemas.ErrTagExists)
	})
	if _, err := c.read("r"); err != nil {
		t.Fatal(err)
	}
	s, err := conns[0].JetStream().Stream(t.Context(), bucket.StreamPrefix+tags.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	wait.Success(t, func() error { // the replica that responds may lack the fence
		_, err := s.GetLastMsgForSubject(t.Context(), bucket.SubjectPrefix+tags.Bucket+".=fence")
		return err
	})
}
