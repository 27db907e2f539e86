package bus_test

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus"
	"cairn/bus/bucket"
)

// ends is a log handler that ends the goroutine at the given line.
type ends struct {
	slog.Handler
	line int    // counts down
	end  string // the text of that line
}

func (e *ends) Enabled(context.Context, slog.Level) bool { return true }

func (e *ends) Handle(_ context.Context, r slog.Record) error {
	if r.Level == slog.LevelInfo {
		e.line--
	}
	if e.line == 0 {
		e.end = r.Message
		runtime.Goexit()
	}
	return nil
}

// migrateUntil starts the migrating node and interrupts it at the given log line, whose
// text it returns; "" if there were fewer lines.
func (n *nodes) migrateUntil(i, line int) (end string) {
	n.t.Helper()
	log := &ends{slog.DiscardHandler, line, ""}
	conn := n.start(i)
	var migrating sync.WaitGroup
	migrating.Go(func() {
		stop, err := n.servers[i].Bootstrap(soon(n.t), conn, 3, slog.New(log))
		if err != nil {
			n.t.Error(err)
			return
		}
		n.t.Cleanup(stop)
	})
	migrating.Wait()
	if log.end != "" {
		conn.Close()
		n.stop(i)
	}
	return log.end
}

// Interrupted after each step, the migration is resumed: other nodes wait, and no data
// is lost.
func TestInterruptedMigration(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	n.alone(1, 100)
	conns := []*bus.Conn{n.start(0), nil, n.start(2)}
	var bootstrapped sync.WaitGroup
	for _, i := range []int{0, 2} {
		bootstrapped.Go(func() {
			if err := n.bootstrap(soon(t), i, conns[i]); err != nil {
				t.Error(err)
			}
		})
	}
	for line := 1; ; line++ {
		end := n.migrateUntil(1, line)
		t.Logf("step %d: %s", line, end)
		if t.Failed() {
			return
		}
		if end == "" || strings.HasPrefix(end, "migration finished") {
			break
		}
		for _, i := range []int{0, 2} {
			until(t, "other nodes wait", func(context.Context) error {
				if says, _ := n.servers[i].Trouble(); !strings.Contains(says, "has not finished its migration") {
					return errors.New(says)
				}
				return nil
			})
		}
		if strings.HasPrefix(end, "migrating stream") {
			halfMade(t, conns[0])
		}
	}
	bootstrapped.Wait()
	if t.Failed() {
		return
	}
	var entry jetstream.KeyValueEntry
	until(t, "read", func(ctx context.Context) error {
		kv, err := conns[0].JetStream().KeyValue(ctx, "b")
		if err == nil {
			entry, err = kv.Get(ctx, "k0")
		}
		return err
	})
	if string(entry.Value()) != "99" || entry.Revision() != 100 {
		t.Errorf("%s at %d, want 99 at 100", entry.Value(), entry.Revision())
	}
	if marker, err := bucket.ReadMigration(soon(t), conns[0].JetStream()); err != nil || marker.Node != "" {
		t.Errorf("got a migration marker of node %q, %v", marker.Node, err)
	}
}

// halfMade leaves an unfinished copy of each stream in the cluster.
func halfMade(t *testing.T, conn *bus.Conn) {
	t.Helper()
	marker, err := bucket.ReadMigration(soon(t), conn.JetStream())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b", "ours"} {
		c := jetstream.StreamConfig{Name: bucket.StreamPrefix + name, Subjects: []string{bucket.SubjectPrefix + name + ".>"}}
		marker.Mark(&c)
		until(t, "leave a stream", func(ctx context.Context) error {
			_, err := conn.JetStream().CreateStream(ctx, c)
			if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
				return nil
			}
			return err
		})
	}
}

// If the node and the cluster both have a stream, neither is changed, and the node
// reports it.
func TestMigrationConflict(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	n.alone(1, 2)
	conn := n.start(0)
	third := n.start(2)
	until(t, "the cluster has a stream", func(ctx context.Context) error {
		_, err := conn.JetStream().CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "b"})
		return err
	})
	kv := bucketOf(t, conn, 1)
	if _, err := kv.PutString(soon(t), "mine", "v"); err != nil {
		t.Fatal(err)
	}
	for i, conn := range map[int]*bus.Conn{0: conn, 2: third} {
		if err := n.bootstrap(soon(t), i, conn); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.bootstrap(soon(t), 1, n.start(1)); err == nil ||
		!strings.Contains(err.Error(), "the cluster already has this data: stream KV_b") {
		t.Errorf("got %v, want a conflict", err)
	}
	if entry, err := kv.Get(soon(t), "mine"); err != nil || string(entry.Value()) != "v" {
		t.Errorf("what the cluster had is gone: %v", err)
	}
}

// A stream that was created in the cluster during an interrupted migration is reported,
// and not changed.
func TestStreamCreatedDuringMigration(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	n.alone(1, 2)
	conn, third := n.start(0), n.start(2)
	waiting, leave := context.WithCancel(soon(t))
	var others sync.WaitGroup
	others.Go(func() { _ = n.bootstrap(waiting, 0, conn) })
	others.Go(func() { _ = n.bootstrap(waiting, 2, third) })
	defer others.Wait()
	defer leave()
	if end := n.migrateUntil(1, 1); end == "" {
		t.Fatal("no log line")
	}
	kv := bucketOf(t, conn, 2)
	until(t, "write", func(ctx context.Context) error { _, err := kv.PutString(ctx, "mine", "v"); return err })
	if err := n.bootstrap(soon(t), 1, n.start(1)); err == nil ||
		!strings.Contains(err.Error(), "the cluster already has this data: stream KV_b") {
		t.Errorf("got %v, want a conflict", err)
	}
	until(t, "read the value", func(ctx context.Context) error { _, err := kv.Get(ctx, "mine"); return err })
}
