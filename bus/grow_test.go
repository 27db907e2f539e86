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

// ends is a log that ends the goroutine which writes the line of the number.
type ends struct {
	slog.Handler
	line int    // counts down
	end  string // the line
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

// bringUntil starts the node that brings data, and ends it at the line of its
// log with the number; it says which, or that there was none.
func (n *nodes) bringUntil(i, line int) (end string) {
	n.t.Helper()
	log := &ends{slog.DiscardHandler, line, ""}
	conn := n.start(i)
	var bringing sync.WaitGroup
	bringing.Go(func() {
		stop, err := n.servers[i].Found(soon(n.t), conn, 3, slog.New(log))
		if err != nil {
			n.t.Error(err)
			return
		}
		n.t.Cleanup(stop)
	})
	bringing.Wait()
	if log.end != "" {
		conn.Close()
		n.stop(i)
	}
	return log.end
}

// TestANodeThatBringsDataEndsEarly ends the node that brings data after each
// step: the others wait for it, and when it is back all its data is there.
func TestANodeThatBringsDataEndsEarly(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	n.alone(1, 100)
	conns := []*bus.Conn{n.start(0), nil, n.start(2)}
	var founded sync.WaitGroup
	for _, i := range []int{0, 2} {
		founded.Go(func() {
			if err := n.found(soon(t), i, conns[i]); err != nil {
				t.Error(err)
			}
		})
	}
	for line := 1; ; line++ {
		end := n.bringUntil(1, line)
		t.Logf("step %d: %s", line, end)
		if t.Failed() {
			return
		}
		if end == "" || strings.HasPrefix(end, "the cluster has the data") {
			break
		}
		for _, i := range []int{0, 2} {
			until(t, "the node is waited for", func(context.Context) error {
				if says, _ := n.servers[i].Trouble(); !strings.Contains(says, "has begun to bring its data") {
					return errors.New(says)
				}
				return nil
			})
		}
		if strings.HasPrefix(end, "the cluster gets") {
			halfMade(t, conns[0])
		}
	}
	founded.Wait()
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
	if note, err := bucket.ReadNote(soon(t), conns[0].JetStream()); err != nil || note.Node != "" {
		t.Errorf("there is a note of node %q, %v", note.Node, err)
	}
}

// halfMade leaves a stream of the name in the cluster, as a copy that was cut
// off does.
func halfMade(t *testing.T, conn *bus.Conn) {
	t.Helper()
	note, err := bucket.ReadNote(soon(t), conn.JetStream())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b", "ours"} {
		c := jetstream.StreamConfig{Name: bucket.StreamPrefix + name, Subjects: []string{bucket.SubjectPrefix + name + ".>"}}
		note.Mark(&c)
		until(t, "leave a stream", func(ctx context.Context) error {
			_, err := conn.JetStream().CreateStream(ctx, c)
			if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
				return nil
			}
			return err
		})
	}
}

// TestWhatIsTheClustersOwnStays has a node bring a stream that the cluster has:
// neither is touched, and the node says so.
func TestWhatIsTheClustersOwnStays(t *testing.T) {
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
		if err := n.found(soon(t), i, conn); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.found(soon(t), 1, n.start(1)); err == nil || !strings.Contains(err.Error(), "the cluster has its own: stream KV_b") {
		t.Errorf("%v, want that both have the stream", err)
	}
	if entry, err := kv.Get(soon(t), "mine"); err != nil || string(entry.Value()) != "v" {
		t.Errorf("what the cluster had is gone: %v", err)
	}
}

// TestWhatIsMadeBesidesACopyStays has somebody make a stream while the node that
// brings one is away: when it is back it says so, and the stream is as it was.
func TestWhatIsMadeBesidesACopyStays(t *testing.T) {
	t.Parallel()
	n := newNodes(t)
	n.alone(1, 2)
	conn, third := n.start(0), n.start(2)
	waiting, leave := context.WithCancel(soon(t))
	var others sync.WaitGroup
	others.Go(func() { _ = n.found(waiting, 0, conn) })
	others.Go(func() { _ = n.found(waiting, 2, third) })
	defer others.Wait()
	defer leave()
	if end := n.bringUntil(1, 1); end == "" {
		t.Fatal("the node says nothing")
	}
	kv := bucketOf(t, conn, 2)
	until(t, "write", func(ctx context.Context) error { _, err := kv.PutString(ctx, "mine", "v"); return err })
	if err := n.found(soon(t), 1, n.start(1)); err == nil || !strings.Contains(err.Error(), "the cluster has its own: stream KV_b") {
		t.Errorf("%v, want that both have the stream", err)
	}
	until(t, "read what was made", func(ctx context.Context) error { _, err := kv.Get(ctx, "mine"); return err })
}
