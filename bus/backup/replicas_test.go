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

// TestRestoreKeepsReplicas restores buckets with three replicas without an explicit
// number of replicas: to three servers, and to one.
func TestRestoreKeepsReplicas(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn := bustest.StartCluster(t).Conns[0]
	bustest.Until(t, "set up a bucket", func(ctx context.Context) error {
		_, err := bucket.Setup(ctx, conn.JetStream(), bucket.Keys, bucket.Replication{Replicas: 3},
			func(*jetstream.StreamConfig) {})
		return err
	})
	open(t, conn, bucket.Catalog)
	put(t, conn, "cairn_keys.a", "v")
	var file bytes.Buffer
	if _, err := backup.Save(ctx, conn, conn, &file, nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{bucket.Keys, bucket.Catalog} {
		bustest.Must(t, conn.JetStream().DeleteStream(ctx, bucket.StreamPrefix+name))
	}
	for _, target := range []struct {
		conn     *bus.Conn
		replicas int
	}{{conn, 3}, {bustest.Open(t), 1}} {
		checked, err := backup.Check(bytes.NewReader(file.Bytes()))
		bustest.Must(t, err)
		bustest.Must(t, checked.Restore(ctx, target.conn, target.conn, 0))
		s, err := target.conn.JetStream().Stream(ctx, bucket.StreamPrefix+bucket.Keys)
		bustest.Must(t, err)
		if got := s.CachedInfo().Config.Replicas; got != target.replicas {
			t.Errorf("got %d replicas, want %d", got, target.replicas)
		}
	}
}
