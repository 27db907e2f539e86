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

// TestMain runs all tests, and sees to it that nothing of them is left running.
//
// The rows of the contracts are asked of the whole system, over HTTP and over
// NATS. Each test runs twice with the same code: on everything in one process,
// and on the built program as processes of their own around one NATS server.
// TestRealBackends runs many of them on real backends, too.
// Systems are shared, so that all tests run at once. In what a test sends and
// expects, $ stands for a word that no other test has: its ids, its domain,
// its tenant begin with it.
func TestMain(m *testing.M) { goleak.VerifyTestMain(&whole{m}) }

// whole is all tests, and what they leave running ended after them.
type whole struct{ *testing.M }

// Run implements goleak's TestingM.
func (w *whole) Run() int {
	if err := manyAtOnce(); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return 2
	}
	code := w.M.Run()
	if err := errors.Join(end(), cairntest.RemoveProgram()); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// manyAtOnce lets more tests run beside each other than there are processors,
// unless -parallel says how many: what they do most is to wait.
func manyAtOnce() error {
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

var topologies = []topology{{"one process", together}, {"many processes", apart}}

// setup is what a system is to be like.
type setup struct {
	name     string
	workers  [][]string    // the roles of each worker, where they are processes; none: one with all
	idle     bool          // an edge alone, no worker
	data     string        // folder; empty: one that ends with the system
	model    string        // URL; empty: the default
	index    string        // URL; empty: the default
	embed    string        // URL; empty: the default
	render   string        // subject of the rendering agent
	tagTTL   time.Duration // 0: the default
	grace    time.Duration // of an analysis to which nobody listens; 0: the default
	patience time.Duration // set: a second edge, which cuts analyses off after as long
	keys     bool          // callers are known by API keys
	limits   access.Limits // of each of them
	tcp      bool          // the services of the one process meet their server over TCP, and outlive it
}

// The systems that tests share.
var (
	usual = &setup{name: "usual", workers: [][]string{{"tags", "register"}, {"resolve"}, {"resolve"}, {"analyze"}}}
	// scripted has a model that does what the question says, see model_test.go.
	scripted = &setup{name: "scripted", model: "scripted", tagTTL: 2 * time.Second, patience: 1500 * time.Millisecond, grace: 300 * time.Millisecond}
	// resumable has a second edge on which answers go on.
	resumable = &setup{name: "resumable", model: "scripted", patience: 100 * time.Second}
	// rendered hands its answers to the agent of render_test.go.
	rendered = &setup{name: "rendered", render: "test.render", patience: 4 * time.Second}
	// guarded asks who its callers are.
	guarded = &setup{name: "guarded", model: "scripted", keys: true, workers: [][]string{{"tags", "register"}, {"resolve"}, {"analyze"}}}
	// deserted has no worker at all.
	deserted = &setup{name: "deserted", idle: true}
)

// shared is a system that runs until the end of all tests.
type shared struct {
	once   sync.Once
	system *system
	err    error
}

var running = struct {
	sync.Mutex
	systems map[string]*shared
}{systems: map[string]*shared{}}

// open is the shared system of the topology, started by the first who asks.
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

// end stops all shared systems at once.
func end() error {
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

// everywhere runs check on the shared system of each topology, as a client
// with a word of its own.
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

// alone is everywhere, on systems that the test has for itself.
func alone(t *testing.T, s setup, check func(*testing.T, *client)) {
	t.Helper()
	t.Parallel()
	for _, top := range systems(t) {
		t.Run(top.name, func(t *testing.T) {
			t.Parallel()
			check(t, ready(t, newClient(t, start(t, top, s))))
		})
	}
}

// start is a system that ends with the test.
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
