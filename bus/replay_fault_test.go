package bus_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/bus/replay"
	"cairn/schemas"
	"cairn/test/wait"
)

// serversOf starts three servers with JetStream that form a cluster.
func serversOf(t *testing.T) []*bustest.Node {
	t.Helper()
	listen := make([]string, 3)
	options := make([]*server.Options, 3)
	for i := range listen {
		listen[i] = bustest.FreeAddress(t)
	}
	for i := range options {
		o := &server.Options{ServerName: fmt.Sprint("n", i), JetStream: true}
		o.Cluster.Name, o.Cluster.Host = "c", "127.0.0.1"
		_, err := fmt.Sscanf(listen[i], "127.0.0.1:%d", &o.Cluster.Port)
		bustest.Must(t, err)
		for _, address := range listen {
			o.Routes = append(o.Routes, server.RoutesFromStr("nats://"+address)...)
		}
		options[i] = o
	}
	nodes := make([]*bustest.Node, 3)
	for i, o := range options {
		nodes[i] = bustest.StartNode(t, o)
	}
	return nodes
}

// TestRunSurvivesServerFailure stops the server that leads the replay stream and that
// the client is connected to, while a run sends events. The client, and one that resumes
// the run, receive all events.
func TestRunSurvivesServerFailure(t *testing.T) {
	t.Parallel()
	nodes := serversOf(t)
	dial := func(i int) *bus.Conn { return bustest.DialURL(t, nodes[i].ClientURL()) }
	first := dial(0)
	bustest.Until(t, "set up the replay stream", func(ctx context.Context) error {
		return bus.Analyze.Setup(ctx, first, bucket.Replication{Replicas: 3})
	})
	var leader int
	bustest.Until(t, "find the leader", func(ctx context.Context) error {
		stream, err := first.JetStream().Stream(ctx, bus.Analyze.ReplayStream())
		if err != nil {
			return err
		}
		if c := stream.CachedInfo().Cluster; c == nil || c.Leader == "" {
			return errors.New("no leader")
		}
		_, err = fmt.Sscanf(stream.CachedInfo().Cluster.Leader, "n%d", &leader)
		return err
	})
	const events = 60
	next := make(chan struct{})
	serve(t, dial((leader+1)%3), func(ctx context.Context, _ schemas.Analysis, sender bus.Sender) (err error) {
		for i := range events {
			select {
			case <-next:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			err = errors.Join(err, sender.Send(schemas.EventTextDelta, schemas.TextDelta{Text: fmt.Sprint(i)}))
		}
		return err
	})
	client, run := dial(leader), bus.NewRun()
	var got uint64
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	received := make(chan struct{}) // closed at the first event
	go func() {
		for i := range events {
			if i == events/3 {
				<-received // a request that no worker has confirmed fails
				nodes[leader].Shutdown()
			}
			select {
			case next <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
	}()
	for event, err := range bus.Analyze.Run(ctx, client, run, anything) {
		if err != nil {
			t.Fatalf("after %d events: %v", got, err)
		}
		if got++; event.Sequence != got {
			t.Fatalf("got event %d, want %d", event.Sequence, got)
		}
		if got == 1 {
			close(received)
		}
	}
	if got != events+1 {
		t.Errorf("got %d events, want %d and done", got, events)
	}
	resumedEvents, err := resumed(ctx, client, run, 0)
	if err != nil || len(resumedEvents) != events+1 {
		t.Errorf("resumed: %d events, %v, want %d", len(resumedEvents), err, events+1)
	}
}

// storedEvents publishes events of a run to the replay stream, like a worker that is lost
// before it publishes the last one.
func storedEvents(t *testing.T, nc *nats.Conn, run string, events int) {
	t.Helper()
	for i := range events {
		e := bus.Event{Type: schemas.EventTextDelta, Sequence: uint64(i + 1), Data: []byte("{}")}
		if _, err := nc.Request("cairn.analyze."+run+".replay", e.Append(nil), 10*time.Second); err != nil {
			t.Fatal(err)
		}
	}
}

// lostEnd are the last events of a run whose worker was lost.
var lostEnd = []string{"9007199254740990error", "9007199254740991done"}

// TestRunOfALostWorkerEndsWithAnError resumes a run whose worker has stored 20 events.
func TestRunOfALostWorkerEndsWithAnError(t *testing.T) {
	t.Parallel()
	conn, nc := startServer(t)
	setupReplay(t, conn)
	for after, want := range map[uint64][]string{
		0: nil, 19: append([]string{"20text_delta"}, lostEnd...), 20: lostEnd, 25: lostEnd, // events that were not stored
		9007199254740990: lostEnd[1:], 9007199254740991: {},
	} {
		t.Run(fmt.Sprint("after ", after), func(t *testing.T) {
			t.Parallel() // may wait for longer than events are retained
			run := bus.NewRun()
			storedEvents(t, nc, run, 20)
			events, err := resumed(t.Context(), conn, run, after)
			if want == nil && len(events) == 22 {
				events, want = events[20:], lostEnd
			}
			if err != nil || !slices.Equal(events, want) {
				t.Errorf("got %v, %v, want %v", events, err, want)
			}
		})
	}
	for _, after := range []uint64{9007199254740990, 9007199254740991} {
		if _, err := resumed(t.Context(), conn, bus.NewRun(), after); !errors.Is(err, schemas.ErrRunNotFound) {
			t.Errorf("an unknown run after %d: %v", after, err)
		}
	}
}

// TestResumeWaitsForTheWorker: a client resumes a run while its worker, whose NATS server has
// died, reconnects to another one.
func TestResumeWaitsForTheWorker(t *testing.T) {
	t.Parallel()
	nodes := serversOf(t)
	client := bustest.DialURL(t, nodes[0].ClientURL())
	bustest.Until(t, "set up the replay stream", func(ctx context.Context) error {
		return bus.Analyze.Setup(ctx, client, bucket.Replication{Replicas: 3})
	})
	stream, err := client.JetStream().Stream(t.Context(), bus.Analyze.ReplayStream())
	bustest.Must(t, err)
	first := nodes[1] // of the worker; not the leader, without which a new stream answers no reads for 2 s
	if stream.CachedInfo().Cluster.Leader == first.Name() {
		first = nodes[2]
	}
	reconnect := make(chan struct{})
	worker := bustest.DialURL(t, first.ClientURL(), nats.CustomReconnectDelay(func(int) time.Duration {
		<-reconnect
		return 10 * time.Millisecond
	}))
	finish := make(chan struct{})
	serve(t, worker, func(ctx context.Context, _ schemas.Analysis, sender bus.Sender) error {
		err := sender.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "a"})
		select {
		case <-finish:
		case <-ctx.Done():
		}
		return errors.Join(err, sender.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "b"}))
	})
	run := bus.NewRun()
	listen(t, client, run, 1)
	first.Shutdown()
	type result struct {
		events []string
		err    error
	}
	ended := make(chan result, 1)
	go func() {
		events, err := resumed(t.Context(), client, run, 0)
		ended <- result{events, err}
	}()
	select { // the former limit of attempts was reached within 250 ms
	case r := <-ended:
		t.Fatalf("while the worker is disconnected: %v, %v", r.events, r.err)
	case <-time.After(2 * time.Second):
	}
	close(reconnect)
	close(finish)
	if r := <-ended; r.err != nil || fmt.Sprint(r.events) != "[1text_delta 2text_delta 3done]" {
		t.Errorf("got %v, %v, want the whole run", r.events, r.err)
	}
}

// TestHeartbeatRevealsLostEvents: the last events of a run are lost on their way to the
// client, and a heartbeat contains the sequence of the last one.
func TestHeartbeatRevealsLostEvents(t *testing.T) {
	t.Parallel()
	wantEvents(t, func(w twoEvents) {
		_ = w.nc.Publish("cairn.analyze."+w.run+".replay", slices.Concat(w.delta, w.done))
		_ = w.nc.PublishMsg(w.heartbeat("2"))
	})
}

// TestEndOfUnstoredRun: a worker ends a run while the client looks for a lost event, and the replay
// stream has lost the events that the client has received.
func TestEndOfUnstoredRun(t *testing.T) {
	t.Parallel()
	wantEvents(t, func(w twoEvents) {
		_ = w.nc.PublishMsg(w.heartbeat("1"))
		_ = w.nc.Publish(w.reply, w.delta)
		_ = w.nc.Publish(w.reply, w.done)
	})
}

// twoEvents is a run of two events, at its worker.
type twoEvents struct {
	nc          *nats.Conn
	run, reply  string
	delta, done []byte
}

// heartbeat returns a heartbeat of the run with the sequence of its last event.
func (w twoEvents) heartbeat(sequence string) *nats.Msg {
	msg := nats.NewMsg(w.reply)
	msg.Reply = "cairn.analyze." + w.run
	msg.Header.Set(bus.HeaderSequence, sequence)
	return msg
}

// wantEvents checks that a client receives both events of a run, which the worker publishes as answer does.
func wantEvents(t *testing.T, answer func(twoEvents)) {
	t.Helper()
	conn, nc := startServer(t)
	setupReplay(t, conn)
	run := bus.NewRun()
	delta := bus.Event{Type: schemas.EventTextDelta, Sequence: 1, Data: []byte("{}")}.Append(nil)
	done := bus.Event{Type: schemas.EventDone, Sequence: 2, Data: []byte("{}")}.Append(nil)
	bustest.Subscribe(t, nc, bus.Analyze.Subject,
		func(msg *nats.Msg) { answer(twoEvents{nc, run, msg.Reply, delta, done}) })
	var got []uint64
	for event, err := range bus.Analyze.Run(t.Context(), conn, run, anything) {
		bustest.Must(t, err)
		got = append(got, event.Sequence)
	}
	if fmt.Sprint(got) != "[1 2]" {
		t.Errorf("got the events %v, want [1 2]", got)
	}
}

// TestRunOfAWorkerLostBeforeItsFirstEvent: the worker loses its connection when the start of the run is stored.
func TestRunOfAWorkerLostBeforeItsFirstEvent(t *testing.T) {
	t.Parallel()
	server, conn := bustest.Start(t)
	setupReplay(t, conn)
	worker := bustest.Dial(t, server)
	checked := make(chan struct{})
	serve(t, worker, func(context.Context, schemas.Analysis, bus.Sender) error { <-checked; return nil })
	run := bus.NewRun()
	ctx, stop := context.WithCancel(t.Context())
	var client sync.WaitGroup
	client.Go(func() {
		for _, err := range bus.Analyze.Run(ctx, conn, run, anything) {
			if err != nil {
				return
			}
		}
	})
	wait.Until(t, "the run is stored", func() bool {
		runs, err := bus.Analyze.Stored(t.Context(), conn, nil)
		return err == nil && len(runs) == 1
	})
	worker.JetStream().Conn().Close()
	if events, err := resumed(t.Context(), conn, run, 0); err != nil || !slices.Equal(events, lostEnd) {
		t.Errorf("got %v, %v, want the loss of the worker", events, err)
	}
	close(checked)
	stop()
	client.Wait()
}

// TestReplayShareOfATenant: one tenant stores more than its share of the replay stream. The
// events of another tenant remain, and a client that resumes the run detects missing events.
func TestReplayShareOfATenant(t *testing.T) {
	t.Parallel()
	server, conn := bustest.Start(t)
	setupReplay(t, conn)
	large := strings.Repeat("x", 512<<10)
	serve(t, bustest.Dial(t, server), func(ctx context.Context, _ schemas.Analysis, sender bus.Sender) (err error) {
		events := 2
		if bus.Identity(ctx).ID == "acme" {
			events = 64
		}
		for range events {
			err = errors.Join(err, sender.Send(schemas.EventTextDelta, schemas.TextDelta{Text: large}))
		}
		return err
	})
	run := func(tenant string) (name string) {
		name = bus.NewRun()
		ctx := bus.WithIdentity(t.Context(),
			&schemas.Identity{ID: tenant, Role: schemas.RoleAnalyst, Tenants: []string{tenant}})
		for _, err := range bus.Analyze.Run(ctx, conn, name, anything) {
			bustest.Must(t, err)
		}
		return name
	}
	started := time.Now()
	first := run("globex")
	over := run("acme")
	run("acme")
	stream, err := conn.JetStream().Stream(t.Context(), "cairn_analyze")
	bustest.Must(t, err)
	const bound = replay.WorkerBytes + 2<<20
	if stored := stream.CachedInfo().State.Bytes; stored < 2<<20 || stored > bound {
		t.Errorf("stored %d bytes of 65 MiB, want at most %d", stored, bound)
	}
	replayed := func(name string) (events []string, err error) {
		wait.Until(t, "the worker replies in time", func() bool {
			events, err = resumed(t.Context(), conn, name, 0)
			return !errors.Is(err, schemas.ErrAnalysisTimeout)
		})
		return events, err
	}
	expired := func() bool { return time.Since(started) > stream.CachedInfo().Config.MaxAge } // on a busy machine
	for _, name := range []string{first, run("globex")} {
		if events, err := replayed(name); (err != nil || len(events) != 3) && !expired() {
			t.Errorf("resumed %d events of another tenant, %v, want 3", len(events), err)
		}
	}
	events, err := replayed(over)
	if len(events) == 0 && !expired() || !errors.Is(err, schemas.ErrRunNotFound) {
		t.Errorf("resumed %d events, %v, want some and that others are not retained", len(events), err)
	}
}
