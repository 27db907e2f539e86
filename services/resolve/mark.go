package resolve

import (
	"context"
	"sync"
)

// mark is how far a view has come in the log, and whether it is stuck there.
type mark struct {
	mu      sync.Mutex
	reached uint64
	stuck   error
	changed chan struct{} // closed, and replaced, when the rest changes
}

func newMark() *mark { return &mark{changed: make(chan struct{})} }

func (m *mark) set(reached uint64, stuck error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reached, m.stuck = reached, stuck
	close(m.changed)
	m.changed = make(chan struct{})
}

// get is how far the view has come, and why it is stuck there; nil: it is not.
func (m *mark) get() (reached uint64, stuck error) {
	reached, _, stuck = m.watch()
	return reached, stuck
}

// watch is get, with what closes when the answer changes.
func (m *mark) watch() (reached uint64, changed <-chan struct{}, stuck error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reached, m.changed, m.stuck
}

// await is waitFor for a bounded time, without the slot of ctx's request.
func (m *mark) await(ctx context.Context, revision uint64) error {
	if reached, _ := m.get(); reached >= revision {
		return nil
	}
	return wait(ctx, func(ctx context.Context) error { return m.waitFor(ctx, revision) })
}

// waitFor returns nil once the revision is reached, why that is not going to
// happen soon, or ctx's error.
func (m *mark) waitFor(ctx context.Context, revision uint64) error {
	for {
		reached, changed, stuck := m.watch()
		if reached >= revision {
			return nil
		}
		if stuck != nil {
			return stuck
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
