package bus_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/test/wait"
)

func writeTag(id string) schemas.TagWrite {
	return schemas.TagWrite{Tag: schemas.Tag{RequestID: id, Flow: "f"}}
}

// TestFitsReply checks both sides of the largest reply: max_payload without the 4 KiB for headers.
func TestFitsReply(t *testing.T) {
	t.Parallel()
	conn, nc := startServer(t)
	s := bustest.Service(t, conn, "tags")
	bustest.Must(t, bus.ReadTag.Serve(s, func(ctx context.Context, k schemas.TagKey) (schemas.TagFound, error) {
		size, err := strconv.Atoi(k.RequestID)
		return schemas.TagFound{}, errors.Join(err, bus.FitsReply(ctx, size))
	}))
	largest := int(nc.MaxPayload()) - 4<<10
	for size, want := range map[int]error{largest: nil, largest + 1: schemas.ErrResponseTooLarge} {
		if _, err := bus.ReadTag.Call(t.Context(), conn, schemas.TagKey{RequestID: strconv.Itoa(size)}); !errors.Is(err,
			want) {
			t.Errorf("%d bytes: got %v, want %v", size, err, want)
		}
	}
	if err := bus.FitsReply(t.Context(), largest+1); err != nil {
		t.Errorf("outside of a request: %v", err)
	}
}

func TestCallReturnsDeclaredError(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	s := bustest.Service(t, conn, "tags")
	bustest.Must(t, bus.WriteTag.Serve(s, func(_ context.Context, w schemas.TagWrite) (schemas.TagWritten, error) {
		switch w.RequestID {
		case "taken":
			return schemas.TagWritten{}, schemas.ErrTagExists.Because("since noon")
		case "boom":
			panic("boom")
		case "odd":
			return schemas.TagWritten{}, errors.New("disk on fire")
		default:
			return schemas.TagWritten{RequestID: w.RequestID, Flow: w.Flow}, nil
		}
	}))
	for _, row := range []struct {
		name, id string
		want     *schemas.Error
		message  string
	}{
		{"an answer", "r1", nil, ""},
		{"a declared error with its detail", "taken", schemas.ErrTagExists,
			"a tag already exists for the request_id: since noon"},
		{"a panic is an internal error", "boom", schemas.ErrInternal,
			"internal error: unexpected error; see the worker log for this request_id"},
		{"an unknown error is internal, and its text is not returned", "odd", schemas.ErrInternal,
			"internal error: unexpected error; see the worker log for this request_id"},
		{"an invalid request names the field", "", schemas.ErrMalformed,
			"malformed request: request_id: required, and must not be empty"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := bus.WriteTag.Call(t.Context(), conn, writeTag(row.id))
			if row.want == nil {
				if err != nil || got.RequestID != row.id {
					t.Fatalf("got %v, %v", got, err)
				}
				return
			}
			var e *schemas.Error
			if !errors.Is(err, row.want) || !errors.As(err, &e) || e.Message() != row.message {
				t.Fatalf("got %v, want %v saying %q", err, row.want, row.message)
			}
		})
	}
}

func TestCallWithoutWorkerIsUnavailable(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	_, err := bus.ReadTag.Call(t.Context(), conn, schemas.TagKey{RequestID: "r1"})
	if !errors.Is(err, schemas.ErrUnavailable) {
		t.Fatalf("got %v, want %v", err, schemas.ErrUnavailable)
	}
}

func TestCallPropagatesContext(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	s := bustest.Service(t, conn, "tags")
	var id string
	var revision uint64
	var timeout time.Duration
	bustest.Must(t, bus.ReadTag.Serve(s, func(ctx context.Context, _ schemas.TagKey) (schemas.TagFound, error) {
		id, revision = bus.RequestID(ctx), bus.MinRevisionOf(ctx, "")
		deadline, _ := ctx.Deadline()
		timeout = time.Until(deadline)
		return schemas.TagFound{}, nil
	}))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	ctx = bus.WithTokens(bus.WithRequestID(ctx, "abc"), schemas.ConsistencyToken{Revision: 7})
	if _, err := bus.ReadTag.Call(ctx, conn, schemas.TagKey{RequestID: "r1"}); err != nil {
		t.Fatal(err)
	}
	if id != "abc" || revision != 7 || timeout > 10*time.Second || timeout <= 0 {
		t.Errorf("got id %q, revision %d, timeout %v", id, revision, timeout)
	}
}

func TestBusyServiceRefusesAtOnce(t *testing.T) {
	t.Parallel()
	server, conn := bustest.Start(t)
	clients := dialClients(t, server)
	s := bustest.Service(t, conn, "tags") // 256 slots
	held := make(chan struct{})
	bustest.Must(t, bus.ReadTag.Serve(s, func(context.Context, schemas.TagKey) (schemas.TagFound, error) {
		<-held
		return schemas.TagFound{}, nil
	}))
	answers := make(chan error, 257)
	for i := range cap(answers) {
		go func() {
			_, err := bus.ReadTag.Call(t.Context(), clients[i%len(clients)], schemas.TagKey{RequestID: "r"})
			answers <- err
		}()
	}
	if err := <-answers; !errors.Is(err, schemas.ErrUnavailable) {
		t.Errorf("got %v, want %v", err, schemas.ErrUnavailable)
	}
	close(held)
	answered := 0
	for range cap(answers) - 1 {
		if err := <-answers; err == nil {
			answered++
		}
	}
	if answered < 204 { // 80 % of the slots, for one tenant
		t.Errorf("%d requests were answered, want at least 204", answered)
	}
}

func TestStopDrainsRequests(t *testing.T) {
	t.Parallel()
	server, caller := bustest.Start(t)
	worker := bustest.Dial(t, server)
	s := bustest.Service(t, worker, "tags")
	started, release := make(chan struct{}), make(chan struct{})
	bustest.Must(t, bus.ReadTag.Serve(s, func(context.Context, schemas.TagKey) (schemas.TagFound, error) {
		close(started)
		<-release
		return schemas.TagFound{Tags: schemas.Tag{Flow: "late"}}, nil
	}))
	answer := make(chan schemas.TagFound, 1)
	go func() {
		tag, _ := bus.ReadTag.Call(t.Context(), caller, schemas.TagKey{RequestID: "r"})
		answer <- tag
	}()
	<-started
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(t.Context()) }()
	close(release)
	if got := <-answer; got.Tags.Flow != "late" {
		t.Errorf("got %v, want the answer", got)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestReconnect(t *testing.T) {
	t.Parallel()
	server, conn, restart := restartable(t)
	s := bustest.Service(t, conn, "tags")
	reached := make(chan struct{}, 1)
	bustest.Must(t, bus.ReadTag.Serve(s, func(ctx context.Context, k schemas.TagKey) (schemas.TagFound, error) {
		if k.RequestID == "hang" {
			reached <- struct{}{}
			<-ctx.Done()
		}
		return schemas.TagFound{}, nil
	}))
	bustest.Must(t, bus.WriteTag.Serve(s, func(context.Context, schemas.TagWrite) (schemas.TagWritten, error) {
		return schemas.TagWritten{}, nil
	}))
	if _, err := bus.WriteTag.Call(t.Context(), conn, writeTag("r")); err != nil {
		t.Fatal(err)
	}
	inFlight := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := bus.ReadTag.Call(ctx, conn, schemas.TagKey{RequestID: "hang"})
		inFlight <- err
	}()
	<-reached
	server.Stop()
	if err := <-inFlight; !errors.Is(err, schemas.ErrUnavailable) {
		t.Errorf("in flight: got %v, want %v", err, schemas.ErrUnavailable)
	}
	calls := make(chan error, 2)
	for _, call := range []func(context.Context) error{
		func(ctx context.Context) error {
			_, err := bus.ReadTag.Call(ctx, conn, schemas.TagKey{RequestID: "r"})
			return err
		},
		func(ctx context.Context) error {
			_, err := bus.WriteTag.Call(ctx, conn, writeTag("r"))
			return err
		},
	} {
		go func() { calls <- call(t.Context()) }()
	}
	wait.Until(t, "both requests wait", func() bool { return bus.Undelivered(conn) == 2 })
	restart()
	for range 2 {
		if err := <-calls; err != nil {
			t.Errorf("a request that was sent while disconnected: %v", err)
		}
	}
}
