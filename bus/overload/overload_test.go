package overload_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"cairn/bus/overload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	patience = 3 // looks
	late     = time.Second
)

func gate() *overload.Gate { return overload.New(patience * 100 * time.Millisecond) }

// enter lets n in, and is how many could.
func enter(g *overload.Gate, n int) (entered int) {
	for range n {
		if g.Enter() {
			entered++
		}
	}
	return entered
}

func leave(g *overload.Gate, n int) {
	for range n {
		g.Leave()
	}
}

// look looks n times.
func look(g *overload.Gate, n int, late time.Duration) {
	for range n {
		g.Look(late)
	}
}

func TestAllMayComeInWhenNothingIsLate(t *testing.T) {
	t.Parallel()
	g := gate()
	look(g, 100, 0)
	if got := enter(g, 100_000); got != 100_000 {
		t.Errorf("got %d of 100,000 in", got)
	}
}

func TestShortLatenessIsBorne(t *testing.T) {
	t.Parallel()
	g := gate()
	enter(g, 1000)
	for range 100 {
		look(g, patience-1, late)
		look(g, patience-1, 0)
	}
	if !g.Enter() {
		t.Error("refused, though all was never late for long")
	}
}

func TestFewerMayComeInTheLongerAllIsLate(t *testing.T) {
	t.Parallel()
	g := gate()
	enter(g, 1000)
	look(g, patience, late)
	if g.Enter() || g.Open() {
		t.Error("let in, though all was late for long")
	}
	leave(g, 1000)
	first := enter(g, 1000)
	if first >= 1000 || first < 700 {
		t.Errorf("got %d in of 1,000 at first", first)
	}
	look(g, 100, late)
	leave(g, first)
	if at, least := enter(g, 1000), min(1000, 64*runtime.GOMAXPROCS(0)); at != least {
		t.Errorf("got %d in at the end, want %d: no processor is to be idle", at, least)
	}
}

func TestMoreMayComeInWhenAllIsWellAgain(t *testing.T) {
	t.Parallel()
	g := gate()
	enter(g, 1000)
	look(g, 100, late)
	leave(g, 1000)
	looks := 0
	for ; looks < 100; looks++ {
		in := enter(g, 1000)
		leave(g, in)
		if in == 1000 {
			break
		}
		g.Look(0)
	}
	if looks > 60 {
		t.Errorf("it took %d looks", looks)
	}
}

func TestLimitEndsWhenNobodyMeetsIt(t *testing.T) {
	t.Parallel()
	g := gate()
	enter(g, 1000)
	look(g, 100, late)
	leave(g, 1000)
	look(g, 100, 0)
	if got := enter(g, 1000); got != 1000 {
		t.Errorf("got %d of 1,000 in", got)
	}
}

func TestWhatOnlyOpensTakesNoRoom(t *testing.T) {
	t.Parallel()
	g := gate()
	look(g, patience, late)
	for range 1000 {
		if !g.Open() {
			t.Fatal("refused, though nobody is in")
		}
	}
}

// TestBusyProcessIsLate has more to do than there are processors.
func TestBusyProcessIsLate(t *testing.T) {
	t.Parallel()
	g := gate()
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { g.Run(ctx) })
	for range 32 * runtime.GOMAXPROCS(0) {
		running.Go(func() {
			for ctx.Err() == nil {
				for began := time.Now(); time.Since(began) < time.Millisecond; { // work
				}
				runtime.Gosched()
			}
		})
	}
	deadline := time.Now().Add(20 * time.Second)
	enter(g, 100_000)
	for g.Enter() && time.Now().Before(deadline) {
		runtime.Gosched()
	}
	refused := !g.Enter()
	stop()
	running.Wait()
	if !refused {
		t.Error("all were let in")
	}
}
