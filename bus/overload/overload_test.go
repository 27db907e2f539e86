package overload_test

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"cairn/bus/overload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const highLatency = time.Second

// admit returns as many slots as the tenant gets, at most n.
func admit(g *overload.Gate, tenant string, n int) (slots []*overload.Slot) {
	for range n {
		s := g.Admit(tenant)
		if s == nil {
			break
		}
		slots = append(slots, s)
	}
	return slots
}

// started reports whether the slot may run without waiting.
func started(t *testing.T, s *overload.Slot) bool {
	t.Helper()
	return s.Start(canceled(t))
}

func running(t *testing.T, slots []*overload.Slot) (n int) {
	t.Helper()
	for _, s := range slots {
		if started(t, s) {
			n++
		}
	}
	return n
}

func TestGateDividesSlotsAmongTenants(t *testing.T) {
	t.Parallel()
	g := overload.New(1000)
	if got := len(admit(g, "noisy", 1000)); got != 800 {
		t.Errorf("the only tenant got %d of 1000 slots, want 800", got)
	}
	quiet := admit(g, "quiet", 10)
	if len(quiet) != 10 || running(t, quiet) != 10 {
		t.Error("another tenant did not get slots, or could not run")
	}
}

func TestUnboundRequestUsesShareOfItsTenant(t *testing.T) {
	t.Parallel()
	g := overload.New(10)
	for i := range 8 {
		if s := g.Admit(""); s == nil || !s.Move("noisy") {
			t.Fatalf("request %d of a tenant within its share was refused", i+1)
		}
	}
	if s := g.Admit(""); s == nil || s.Move("noisy") {
		t.Error("a tenant exceeded its share")
	} else if !s.Move("quiet") {
		t.Error("another tenant did not get a slot")
	}
}

func TestLimitFollowsSchedulingLatency(t *testing.T) {
	t.Parallel()
	g := overload.New(1000)
	g.Adjust(0)
	slots := admit(g, "noisy", 800)
	if got := running(t, slots); got != 800 {
		t.Errorf("%d of 800 run at low scheduling latency, want all", got)
	}
	for range 100 {
		g.Adjust(highLatency)
	}
	for _, s := range slots {
		s.Stop()
	}
	if got, most := running(t, slots), 2*runtime.GOMAXPROCS(0); got < 1 || got > most {
		t.Errorf("%d of one tenant run at high scheduling latency, want 1 to %d", got, most)
	}
	if quiet := g.Admit("quiet"); quiet == nil || !started(t, quiet) {
		t.Error("a request of another tenant has to wait")
	}
	for _, s := range slots {
		s.Stop()
	}
	for range 200 {
		g.Adjust(0)
	}
	if got := running(t, slots); got != 800-1 && got != 800 {
		t.Errorf("%d of 800 run after the overload, want all", got)
	}
}

func TestQueuedRequestRunsWhenAnotherEnds(t *testing.T) {
	t.Parallel()
	g := overload.New(1)
	g.Adjust(highLatency)
	first := g.Admit("a")
	if !first.Start(t.Context()) {
		t.Fatal("the only request was not started")
	}
	first.Stop()
	if !first.Start(t.Context()) {
		t.Error("a request was not started although none was running")
	}
	first.Close()
	if g.Used() != 0 {
		t.Error("slots are in use after Close")
	}
	g.Close()
	if g.Admit("a") != nil {
		t.Error("a closed gate admitted a request")
	}
}

// TestLimitOfBusyProcess has more goroutines than there are processors.
func TestLimitOfBusyProcess(t *testing.T) {
	t.Parallel()
	g := overload.New(1000)
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	working.Go(func() { overload.Run(ctx, g) })
	for range 32 * runtime.GOMAXPROCS(0) {
		working.Go(func() {
			for ctx.Err() == nil {
				for began := time.Now(); time.Since(began) < time.Millisecond; { // work
				}
				runtime.Gosched()
			}
		})
	}
	slots := admit(g, "a", 800)
	limited := false
	for deadline := time.Now().Add(20 * time.Second); !limited && time.Now().Before(deadline); {
		for _, s := range slots {
			if !started(t, s) {
				limited = true
				break
			}
		}
		for _, s := range slots {
			s.Stop()
		}
		runtime.Gosched()
	}
	stop()
	working.Wait()
	if !limited {
		t.Error("all requests were started: no limit")
	}
}

// TestIdleRequestDoesNotRun has a request that waits for two backends.
func TestIdleRequestDoesNotRun(t *testing.T) {
	t.Parallel()
	g := overload.New(1)
	s := g.Admit("a")
	if !s.Start(t.Context()) {
		t.Fatal("the only request was not started")
	}
	ctx, cancel := context.WithCancel(overload.WithSlot(t.Context(), s))
	waits, end, errs := make(chan struct{}), make(chan struct{}), make(chan error)
	idle := func() {
		errs <- overload.Idle(ctx, func() error { waits <- struct{}{}; <-end; return nil })
	}
	go idle()
	go idle()
	<-waits
	<-waits
	if g.Running() != 0 {
		t.Errorf("%d requests run while the only request waits, want 0", g.Running())
	}
	for i, want := range []int64{0, 1} {
		end <- struct{}{}
		if err := <-errs; err != nil || g.Running() != want {
			t.Errorf("after response %d: %v, %d requests run, want %d", i+1, err, g.Running(), want)
		}
	}
	go idle()
	<-waits
	cancel()
	s.Close()
	end <- struct{}{}
	_ = <-errs // depends on the order of cancel and Close
	if g.Used() != 0 || g.Running() != 0 {
		t.Errorf("%d slots are open and %d requests run after Close, want 0", g.Used(), g.Running())
	}
}

func TestIdleReturnsWhenContextEnds(t *testing.T) {
	t.Parallel()
	g := overload.New(1024)
	g.Adjust(highLatency)
	s := g.Admit("a")
	if !s.Start(t.Context()) {
		t.Fatal("the only request was not started")
	}
	ctx, cancel := context.WithCancel(overload.WithSlot(t.Context(), s))
	err := overload.Idle(ctx, func() error {
		for i := 0; started(t, g.Admit(strconv.Itoa(i))); i++ { // until no further request may run
		}
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	failed := errors.New("the backend failed")
	if err := overload.Idle(ctx, func() error { return failed }); !errors.Is(err, failed) {
		t.Errorf("got %v, want the error of the backend", err)
	}
	if err := overload.Idle(t.Context(), func() error { return failed }); !errors.Is(err, failed) {
		t.Errorf("outside of a request: got %v, want the error of the backend", err)
	}
}

func canceled(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
