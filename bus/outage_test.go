package bus_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/bus/overload"
	"cairn/schemas"
	"cairn/test/wait"
)

// outageOf returns a connection, after a worker of WriteTag has replied and stopped, and a
// function that starts another worker.
func outageOf(t *testing.T) (conn *bus.Conn, end func()) {
	t.Helper()
	server, conn := bustest.Start(t)
	worker := func() *bus.Service {
		s, err := bus.Start(bustest.Dial(t, server), "tags", 256, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Stop(context.Background()) })
		if err := bus.WriteTag.Serve(s, func(context.Context, schemas.TagWrite) (schemas.TagWritten, error) {
			return schemas.TagWritten{}, nil
		}); err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := worker()
	if _, err := bus.WriteTag.Call(t.Context(), conn, writeTag("r")); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	return conn, func() { worker() }
}

// TestRequestWaitsForAWorker: a write that reached no worker is delivered to the next one. It
// holds no slot meanwhile.
func TestRequestWaitsForAWorker(t *testing.T) {
	t.Parallel()
	conn, end := outageOf(t)
	gate := overload.New(1)
	slot := gate.Admit("")
	defer slot.Close()
	if !slot.Start(t.Context()) {
		t.Fatal("the slot has not started")
	}
	written := make(chan error, 1)
	go func() {
		_, err := bus.WriteTag.Call(overload.WithSlot(t.Context(), slot), conn, writeTag("r"))
		written <- err
	}()
	wait.Until(t, "the request waits without a slot", func() bool { return gate.Used() == 0 && gate.Running() == 0 })
	end()
	if err := <-written; err != nil {
		t.Errorf("the request in the outage: %v", err)
	}
	if gate.Used() != 1 || gate.Running() != 1 {
		t.Errorf("%d slots are held and %d requests run after the reply, want 1", gate.Used(), gate.Running())
	}
}

func TestRequestsInAnOutageAreBounded(t *testing.T) {
	t.Parallel()
	const requests, most = 300, 256
	conn, end := outageOf(t)
	var all sync.WaitGroup
	refused := make(chan error, requests)
	for range requests {
		all.Go(func() {
			if _, err := bus.WriteTag.Call(t.Context(), conn, writeTag("r")); err != nil {
				refused <- err
			}
		})
	}
	for range requests - most { // the others wait
		if err := <-refused; !errors.Is(err, schemas.ErrUnavailable) {
			t.Errorf("got %v, want %v", err, schemas.ErrUnavailable)
		}
	}
	end()
	all.Wait()
	if n := len(refused); n > most/3 {
		t.Errorf("%d of %d requests that may wait were refused", n, most)
	}
}

// TestCanceledCallerInOutage: the request is not sent when a worker starts later.
func TestCanceledCallerInOutage(t *testing.T) {
	t.Parallel()
	conn, _ := outageOf(t)
	caller, leave := context.WithCancel(t.Context())
	gate := overload.New(1)
	slot := gate.Admit("")
	defer slot.Close()
	written := make(chan error, 1)
	go func() {
		ctx := overload.WithSlot(bus.WithCaller(t.Context(), caller), slot)
		_, err := bus.WriteTag.Call(ctx, conn, writeTag("r"))
		written <- err
	}()
	wait.Until(t, "the request waits", func() bool { return gate.Used() == 0 })
	leave()
	if err := <-written; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

// TestStreamWaitsForAWorker: a run starts when a worker does.
func TestStreamWaitsForAWorker(t *testing.T) {
	t.Parallel()
	conn, _ := startServer(t)
	keep(t, conn)
	worker := func() *bus.Service {
		s := bustest.Service(t, conn, "analyze")
		if err := bus.Analyze.Serve(s, many); err != nil {
			t.Fatal(err)
		}
		return s
	}
	first := worker()
	listen(t, conn, bus.NewRun(), 0)
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	gate := overload.New(1)
	slot := gate.Admit("")
	defer slot.Close()
	run, events := bus.NewRun(), make(chan int)
	go func() {
		n := 0
		for _, err := range bus.Analyze.Run(overload.WithSlot(t.Context(), slot), conn, run, anything) {
			if err != nil {
				t.Error(err)
			}
			n++
		}
		events <- n
	}()
	wait.Until(t, "the request waits", func() bool { return gate.Used() == 0 })
	worker()
	if n := <-events; n != 701 {
		t.Errorf("%d events of the run, want 701", n)
	}
}
