package bus_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/test/wait"
)

// anything is a valid request body.
var anything = []byte(`{"query":"q","context":"{}","target":"H"}`)

// setupReplay creates the replay stream.
func setupReplay(t testing.TB, conn *bus.Conn) {
	t.Helper()
	bustest.Must(t, bus.Analyze.Setup(t.Context(), conn, bucket.Replication{}))
}

// resumed returns the events of Resume, each formatted as by collect.
func resumed(ctx context.Context, conn *bus.Conn, run string, after uint64) (events []string, err error) {
	for event, err := range bus.Analyze.Resume(ctx, conn, run, after) {
		if err != nil {
			return events, err
		}
		events = append(events, fmt.Sprint(event.Sequence, event.Type))
	}
	return events, nil
}

// listen starts a run and disconnects after the number of events; 0: at the end.
func listen(t *testing.T, conn *bus.Conn, run string, events int) {
	t.Helper()
	read := 0
	for _, err := range bus.Analyze.Run(t.Context(), conn, run, anything) {
		bustest.Must(t, err)
		if read++; read == events {
			break
		}
	}
}

// many is the number of events of an answer that needs several replay batches.
func many(_ context.Context, _ schemas.Analysis, sender bus.Sender) (err error) {
	for i := range 700 {
		err = errors.Join(err, sender.Send(schemas.EventTextDelta, schemas.TextDelta{Text: fmt.Sprint(i)}))
	}
	return err
}

func TestResume(t *testing.T) {
	t.Parallel()
	server, conn := bustest.Start(t)
	setupReplay(t, conn)
	serve(t, bustest.Dial(t, server), many)
	run := bus.NewRun()
	listen(t, conn, run, 0)
	for _, after := range []uint64{0, 1, 255, 256, 512, 700} {
		events, err := resumed(t.Context(), conn, run, after)
		if err != nil || len(events) != 701-int(after) || !strings.HasPrefix(events[0], fmt.Sprint(after+1)) ||
			events[len(events)-1] != "701done" {
			t.Errorf("after %d: %d events, %v", after, len(events), err)
		}
	}
	for _, after := range []uint64{701, 703} {
		if events, err := resumed(t.Context(), conn, run, after); err != nil || len(events) > 0 {
			t.Errorf("after %d: got %v, %v, want nothing", after, events, err)
		}
	}
	for _, name := range []string{bus.NewRun(), "", "*", ">", "a.b", strings.Repeat("a", 65)} {
		if _, err := resumed(t.Context(), conn, name, 0); !errors.Is(err, schemas.ErrRunNotFound) {
			t.Errorf("run %q: %v", name, err)
		}
	}
}

func TestResumeRefusedRun(t *testing.T) {
	t.Parallel()
	server, conn := bustest.Start(t)
	setupReplay(t, conn)
	serve(t, bustest.Dial(t, server), func(context.Context, schemas.Analysis, bus.Sender) error {
		return schemas.ErrTooManyRequests
	})
	run := bus.NewRun()
	for _, err := range bus.Analyze.Run(t.Context(), conn, run, anything) {
		if !errors.Is(err, schemas.ErrAnalysisTooManyRequests) {
			t.Errorf("got %v", err)
		}
	}
	if events, err := resumed(t.Context(), conn, run, 0); err != nil || fmt.Sprint(events) != "[1error 2done]" {
		t.Errorf("resumed: got %v, %v", events, err)
	}
}

func TestLostEventsAreReplayed(t *testing.T) {
	t.Parallel()
	conn, worker := startServer(t)
	setupReplay(t, conn)
	run := bus.NewRun()
	say := func(subject string, sequence int, kind string) {
		frame := fmt.Sprintf("id: %d\nevent: %s\ndata: {}\n\n", sequence, kind)
		if err := worker.Publish("cairn.analyze."+run+subject, []byte(frame)); err != nil {
			t.Error(err)
		}
	}
	say(".replay", 2, schemas.EventTextDelta)
	bustest.Subscribe(t, worker, bus.Analyze.Subject, func(*nats.Msg) {
		say(".event", 1, schemas.EventTextDelta)
		say(".event", 3, schemas.EventTextDelta)
		say(".event", 4, schemas.EventDone)
	})
	var got []uint64
	for event, err := range bus.Analyze.Run(t.Context(), conn, run, []byte(`{}`)) {
		bustest.Must(t, err)
		got = append(got, event.Sequence)
	}
	if fmt.Sprint(got) != "[1 2 3 4]" {
		t.Errorf("got the events %v", got)
	}
}

// A run without a client is canceled after the grace period; a plain subscription
// counts as a client.
func TestAbandonedRunIsCanceled(t *testing.T) {
	t.Parallel()
	conn, nc := startServer(t)
	setupReplay(t, conn)
	stream := bus.Analyze
	stream.Grace = 200 * time.Millisecond
	ended, release := make(chan string, 2), make(chan struct{})
	bustest.Must(t, stream.Serve(bustest.Service(t, conn, "analyze"),
		func(ctx context.Context, ask schemas.Analysis, sender bus.Sender) error {
			_ = sender.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "a"})
			select {
			case <-release:
				return nil
			case <-ctx.Done():
				ended <- context.Cause(ctx).Error()
				return ctx.Err()
			}
		}))
	listening, deserted := bus.NewRun(), bus.NewRun()
	sub, err := nc.SubscribeSync("cairn.analyze." + listening + ".*")
	bustest.Must(t, err)
	listen(t, conn, listening, 1)
	listen(t, conn, deserted, 1)
	if cause := <-ended; !strings.Contains(cause, "no client was connected") {
		t.Errorf("canceled with cause %s", cause)
	}
	for range 3 { // heartbeats: the other run has continued for the same time
		if _, err := sub.NextMsg(5 * time.Second); err != nil {
			t.Fatal(err)
		}
	}
	close(release)
	if events, err := resumed(t.Context(), conn, listening, 0); err != nil || fmt.Sprint(events) != "[1text_delta 2done]" {
		t.Errorf("the run with a subscriber: %v, %v", events, err)
	}
	if events, err := resumed(t.Context(), conn, deserted, 0); err != nil ||
		fmt.Sprint(events) != "[1text_delta 2error 3done]" {
		t.Errorf("the run without one: %v, %v", events, err)
	}
}

// Acknowledging an event that was not sent is an error, without effect on other clients.
func TestResumeAfterFutureEvent(t *testing.T) {
	t.Parallel()
	server, conn := bustest.Start(t)
	setupReplay(t, conn)
	release := make(chan struct{})
	serve(t, bustest.Dial(t, server), func(ctx context.Context, ask schemas.Analysis, sender bus.Sender) error {
		if err := sender.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "a"}); err != nil {
			return err
		}
		<-release
		return many(ctx, ask, sender)
	})
	run, read := bus.NewRun(), 0
	for event, err := range bus.Analyze.Run(t.Context(), conn, run, anything) {
		bustest.Must(t, err)
		if read++; event.Sequence == 1 {
			for _, after := range []uint64{2, 1000, math.MaxUint64} {
				if events, err := resumed(t.Context(), conn, run, after); !errors.Is(err, schemas.ErrAnalysisMalformed) {
					t.Errorf("after %d of 1: %v, %v", after, events, err)
				}
			}
			close(release)
		}
	}
	if read != 702 {
		t.Errorf("%d events, want 702", read)
	}
}

// Without a client there is no flow control; it starts again with a client that resumes.
func TestRunContinuesWithoutClient(t *testing.T) {
	t.Parallel()
	server, conn := bustest.Start(t)
	setupReplay(t, conn)
	finished := make(chan error, 1)
	serve(t, bustest.Dial(t, server), func(ctx context.Context, ask schemas.Analysis, sender bus.Sender) error {
		sender.Persist()
		finished <- many(ctx, ask, sender)
		return nil
	})
	run := bus.NewRun()
	listen(t, conn, run, 1)
	bustest.Must(t, <-finished)
	if events, err := resumed(t.Context(), conn, run, 1); err != nil || len(events) != 700 {
		t.Errorf("%d events, %v, want 700", len(events), err)
	}
}

func TestCancelReachesAllClients(t *testing.T) {
	t.Parallel()
	server, conn := bustest.Start(t)
	setupReplay(t, conn)
	serve(t, bustest.Dial(t, server), func(ctx context.Context, _ schemas.Analysis, sender bus.Sender) error {
		_ = sender.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "a"})
		<-ctx.Done()
		return ctx.Err()
	})
	run := bus.NewRun()
	for event, err := range bus.Analyze.Run(t.Context(), conn, run, anything) {
		bustest.Must(t, err)
		switch event.Sequence {
		case 1:
			if err := bus.Analyze.Cancel(t.Context(), conn, run); err != nil {
				t.Error(err)
			}
		case 2:
			if want := `{"code":"AN-410","message":"run stopped: on request"}`; string(event.Data) != want {
				t.Errorf("the end is %s, want %s", event.Data, want)
			}
		}
	}
	for _, name := range []string{run, bus.NewRun(), ">"} {
		if err := bus.Analyze.Cancel(t.Context(), conn, name); err != nil {
			t.Errorf("cancel run %q, which does not exist: %v", name, err)
		}
	}
}

// A restart of a stand-alone server loses the replay stream. Runs after the next setup
// can be resumed.
func TestRunsAreResumedAfterTheNextSetup(t *testing.T) {
	t.Parallel()
	server, conn, restart := restartable(t)
	setupReplay(t, conn)
	inProgress, serverStopped, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	serve(t, conn, func(ctx context.Context, ask schemas.Analysis, sender bus.Sender) error {
		if err := many(ctx, ask, sender); err != nil {
			return err
		}
		select {
		case inProgress <- struct{}{}: // this run is in progress when the server stops
			defer close(ended)
			<-serverStopped
			return sender.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "a"})
		default:
			return nil
		}
	})
	before, broken := bus.NewRun(), bus.NewRun()
	listen(t, conn, before, 0)
	var breaking sync.WaitGroup
	breaking.Go(func() {
		for _, err := range bus.Analyze.Run(t.Context(), conn, broken, anything) {
			if err != nil {
				return
			}
		}
	})
	<-inProgress
	server.Stop()
	breaking.Wait()
	close(serverStopped)
	<-ended
	restart()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for err := error(schemas.ErrUnavailable); err != nil && ctx.Err() == nil; {
		_ = conn.WaitConnected(ctx)
		setupReplay(t, conn)
		run := bus.NewRun()
		for _, err = range bus.Analyze.Run(ctx, conn, run, anything) {
			continue
		}
		if err == nil {
			_, err = resumed(ctx, conn, run, 0)
		}
	}
	if ctx.Err() != nil {
		t.Error("no run can be resumed after the restart of the server")
	}
	// The other run can be resumed if its worker stores all events after the setup.
	if _, err := resumed(ctx, conn, before, 0); !errors.Is(err, schemas.ErrRunNotFound) {
		t.Errorf("a run before the restart: %v", err)
	}
}

// Without JetStream a stream works, but cannot be resumed.
func TestRunWithoutReplayStream(t *testing.T) {
	t.Parallel()
	server, conn := bustest.Start(t)
	serve(t, bustest.Dial(t, server), many)
	run := bus.NewRun()
	listen(t, conn, run, 0)
	if _, err := resumed(t.Context(), conn, run, 1); !errors.Is(err, schemas.ErrAnalysisUnavailable) ||
		!strings.Contains(err.Error(), "no replay stream") {
		t.Errorf("got %v", err)
	}
}

// A persistent run continues while a client stalls; the client then receives all events.
func TestStalledClientCatchesUp(t *testing.T) {
	t.Parallel()
	const events = 5000
	server, conn := bustest.Start(t)
	setupReplay(t, conn)
	finished := make(chan error, 1)
	serve(t, bustest.Dial(t, server), func(_ context.Context, _ schemas.Analysis, sender bus.Sender) (err error) {
		sender.Persist()
		for range events {
			err = errors.Join(err, sender.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "a"}))
		}
		finished <- err
		return err
	})
	last := uint64(0)
	for event, err := range bus.Analyze.Run(t.Context(), conn, bus.NewRun(), anything) {
		if err != nil {
			t.Fatalf("after %d events: %v", last, err)
		}
		if last == 0 {
			bustest.Must(t, <-finished)
		}
		if last++; event.Sequence != last {
			t.Fatalf("got event %d, want %d", event.Sequence, last)
		}
	}
	if last != events+1 {
		t.Errorf("%d events, want %d and done", last, events)
	}
}

// TestResumedRunSurvivesReconnect reconnects a client that has resumed a run and has not
// received an event yet.
func TestResumedRunSurvivesReconnect(t *testing.T) {
	t.Parallel()
	server := bustest.Listen(t)
	conn, client := bustest.Dial(t, server), bustest.Dial(t, server)
	setupReplay(t, conn)
	reconnected := make(chan struct{})
	serve(t, conn, func(ctx context.Context, _ schemas.Analysis, sender bus.Sender) error {
		err := sender.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "a"})
		select {
		case <-reconnected:
			return errors.Join(err, sender.Send(schemas.EventTextDelta, schemas.TextDelta{Text: "b"}))
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	run := bus.NewRun()
	listen(t, conn, run, 1)
	nc := conn.JetStream().Conn()
	replies, err := nc.SubscribeSync("_INBOX.>")
	if err != nil || nc.Flush() != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(reconnected)
		for {
			msg, err := replies.NextMsgWithContext(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			if string(msg.Data) == "1" { // the worker's reply to Resume: the last sequence
				break
			}
		}
		c := client.JetStream().Conn()
		if err := errors.Join(c.Flush(), c.ForceReconnect()); err != nil {
			t.Error(err)
		}
	}()
	if events, err := resumed(t.Context(), client, run, 1); err != nil || fmt.Sprint(events) != "[2text_delta 3done]" {
		t.Errorf("got %v, %v, want the rest of the run", events, err)
	}
}

// TestInvalidRunIsNotStored refuses a run whose request is not valid: nobody can resume it, and no list has it.
func TestInvalidRunIsNotStored(t *testing.T) {
	t.Parallel()
	server, conn := bustest.Start(t)
	setupReplay(t, conn)
	serve(t, bustest.Dial(t, server), many)
	for _, body := range []string{
		`{"id":"i","query":"q","context":"{}","target":"?"}`,
		`{"id":"i","query":"q","context":"` + strings.Repeat("x", 1<<20) + `"}`, // sent in chunks
	} {
		run := bus.NewRun()
		for _, err := range bus.Analyze.Run(t.Context(), conn, run, []byte(body)) {
			if !errors.Is(err, schemas.ErrAnalysisMalformed) {
				t.Errorf("got %v, want %v", err, schemas.ErrAnalysisMalformed)
			}
		}
		wait.Until(t, "the run is unknown", func() bool { // the worker forgets it after its reply
			_, err := resumed(t.Context(), conn, run, 0)
			return errors.Is(err, schemas.ErrRunNotFound)
		})
	}
	if list, err := bus.Analyze.Stored(t.Context(), conn, nil); err != nil || len(list) != 0 {
		t.Errorf("stored runs: got %+v, %v, want none", list, err)
	}
}
