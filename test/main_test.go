package test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"cairn/edge/access"
	"cairn/test/cairntest"
)

// TestMain runs all tests and checks for leaked goroutines.
//
// The tests send the rows of the contracts to the whole system over HTTP and NATS.
// Each runs twice: with everything in one process, and with the built program as
// separate processes around one NATS server. TestRealBackends runs many of them
// with real backends, too. Systems are shared, and tests run in parallel: $ in
// requests and answers stands for a unique word, which starts the test's ids,
// domain and tenant.
func TestMain(m *testing.M) { goleak.VerifyTestMain(&allTests{m}) }

// allTests stops the shared systems after the tests, before goleak checks.
type allTests struct{ *testing.M }

// Run implements goleak's TestingM.
func (w *allTests) Run() int {
	if err := setParallel(); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return 2
	}
	code := w.M.Run()
	if err := errors.Join(stopShared(), cairntest.RemoveProgram()); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// setParallel raises the number of parallel tests above the number of processors,
// unless -parallel is set: the tests mostly wait.
func setParallel() error {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return nil
	}
	return flag.Set("test.parallel", "8")
}

// topology is a way to run Cairn.
type topology struct {
	name  string
	start func(setup) (*system, error)
}

var topologies = []topology{{"one process", inProcess}, {"many processes", multiProcess}}

// setup is the configuration of a system.
type setup struct {
	name           string
	workers        [][]string    // roles of each worker process; nil: one with all
	idle           bool          // no workers
	data           string        // directory; empty: temporary
	model          string        // URL; empty: the default
	index          string        // URL; empty: the default
	embed          string        // URL; empty: the default
	render         string        // subject of the rendering agent
	tagTTL         time.Duration // 0: the default
	grace          time.Duration // of a run without clients; 0: the default
	analyzeTimeout time.Duration // if set, a second edge with this timeout of analyses
	keys           bool          // API keys are required
	limits         access.Limits // of each key
	tcp            bool          // in one process: connect over TCP, and outlive the NATS server
}

// Shared systems.
var (
	usual = &setup{name: "usual", workers: [][]string{{"tags", "register"}, {"resolve"}, {"resolve"}, {"analyze"}}}
	// scripted has the scripted model of model_test.go.
	scripted = &setup{name: "scripted", model: "scripted", tagTTL: 2 * time.Second,
		analyzeTimeout: 1500 * time.Millisecond,
		grace:          300 * time.Millisecond}
	// resumable has a second edge with a long timeout, for resuming.
	resumable = &setup{name: "resumable", model: "scripted", analyzeTimeout: 100 * time.Second}
	// rendered uses the rendering agent of render_test.go.
	rendered = &setup{name: "rendered", render: "test.render", analyzeTimeout: 4 * time.Second}
	// authenticated requires API keys.
	authenticated = &setup{name: "authenticated", model: "scripted", keys: true,
		workers: [][]string{{"tags", "register"}, {"resolve"}, {"analyze"}}}
	// workerless has an edge and no worker.
	workerless = &setup{name: "workerless", idle: true}
)

// shared is a system that runs until all tests have ended.
type shared struct {
	once   sync.Once
	system *system
	err    error
}

var running = struct {
	sync.Mutex
	systems map[string]*shared
}{systems: map[string]*shared{}}

// open returns the shared system of the topology; the first call starts it.
func open(t testing.TB, top topology, s *setup) *system {
	t.Helper()
	running.Lock()
	key := top.name + "/" + s.name
	if running.systems[key] == nil {
		running.systems[key] = &shared{}
	}
	r := running.systems[key]
	running.Unlock()
	r.once.Do(func() { r.system, r.err = top.start(*s) })
	if r.err != nil {
		t.Fatalf("start %s: %v", key, r.err)
	}
	return r.system
}

// stopShared stops all shared systems concurrently.
func stopShared() error {
	running.Lock()
	defer running.Unlock()
	var stopping sync.WaitGroup
	errs := make(chan error, len(running.systems))
	for key, r := range running.systems {
		if r.system == nil {
			continue
		}
		stopping.Go(func() {
			if err := r.system.stop(); err != nil {
				errs <- fmt.Errorf("stop %s: %w", key, err)
			}
		})
	}
	stopping.Wait()
	close(errs)
	var all []error
	for err := range errs {
		all = append(all, err)
	}
	endModel()
	return errors.Join(append(all, removeIndices())...)
}

// everywhere runs check on the shared system of each topology, with a new client.
func everywhere(t *testing.T, s *setup, check func(*testing.T, *client)) {
	t.Helper()
	t.Parallel()
	for _, top := range systems(t) {
		t.Run(top.name, func(t *testing.T) {
			t.Parallel()
			check(t, ready(t, newClient(t, open(t, top, s))))
		})
	}
}

// isolated runs check on a separate system for each topology.
func isolated(t *testing.T, s setup, check func(*testing.T, *client)) {
	t.Helper()
	t.Parallel()
	for _, top := range systems(t) {
		t.Run(top.name, func(t *testing.T) {
			t.Parallel()
			check(t, ready(t, newClient(t, start(t, top, s))))
		})
	}
}

// start starts a system that is stopped with the test.
func start(t testing.TB, top topology, s setup) *system {
	t.Helper()
	own, err := top.start(s)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	t.Cleanup(func() {
		if err := own.stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return own
}
