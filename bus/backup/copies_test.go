package backup_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus"
	"cairn/bus/backup"
	"cairn/bus/bucket"
	"cairn/bus/bustest"
)

// startCluster starts a cluster of three servers and connects to one of them.
func startCluster(t *testing.T) *bus.Conn {
	t.Helper()
	var routes []string
	for range 3 {
		routes = append(routes, bustest.FreeAddress(t))
	}
	var server *bus.Server
	for _, listen := range routes {
		s, err := bus.StartNode(t.TempDir(), "127.0.0.1:0", bus.Cluster{Name: "c", Listen: listen, Routes: routes, Secret: "s"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Stop)
		server = s
	}
	return bustest.Dial(t, server)
}

// TestRestoreKeepsAsManyCopies restores buckets with three replicas without an explicit
// number of replicas: to three servers, and to one.
func TestRestoreKeepsAsManyCopies(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn := startCluster(t)
	for attempt := context.Canceled; attempt != nil; {
		brief, done := context.WithTimeout(ctx, 2*time.Second) // the cluster does not respond before it has a leader
		_, attempt = bucket.Setup(brief, conn.JetStream(), bucket.Keys, bucket.Copies{Replicas: 3}, func(*jetstream.StreamConfig) {})
		done()
		if ctx.Err() != nil {
			t.Fatal(attempt)
		}
	}
	open(t, conn, bucket.Catalog)
	put(t, conn, "keys.a", "v")
	var file bytes.Buffer
	if _, err := backup.Save(ctx, conn, conn, &file); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{bucket.Keys, bucket.Catalog} {
		if err := conn.JetStream().DeleteStream(ctx, bucket.StreamPrefix+name); err != nil {
			t.Fatal(err)
		}
	}
	for _, to := range []struct {
		conn   *bus.Conn
		copies int
	}{{conn, 3}, {bustest.Open(t), 1}} {
		checked, err := backup.Check(bytes.NewReader(file.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if err := checked.Restore(ctx, to.conn, to.conn, 0); err != nil {
			t.Fatal(err)
		}
		s, err := to.conn.JetStream().Stream(ctx, bucket.StreamPrefix+bucket.Keys)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.CachedInfo().Config.Replicas; got != to.copies {
			t.Errorf("got %d copies, want %d", got, to.copies)
		}
	}
}
