package embed

import (
	"context"
	"fmt"
	"time"
)

const (
	// loadTimeout bounds the loading of a model from a slow disk.
	loadTimeout = 5 * time.Minute
	// watchInterval is the interval at which Watch checks whether a probe is due.
	watchInterval = 500 * time.Millisecond
)

// Check queries whether the server has the model, unless the circuit breaker is
// open. It does not load the model.
func (m *model) Check(ctx context.Context) error {
	err := m.check(ctx)
	if err != nil {
		return fmt.Errorf("check %s: %w", m.name, err)
	}
	return nil
}

func (m *model) check(ctx context.Context) error {
	for _, b := range m.breakers {
		if err := b.Err(); err != nil && (m.watched.Load() || !b.HalfOpen()) {
			return err
		}
	}
	if id := m.known.Load(); id != nil {
		return m.verify(ctx, id)
	}
	return limit(ctx, metadataTimeout, func(ctx context.Context) error {
		_, err := m.identify(ctx)
		return err
	})
}

func (m *model) warm(ctx context.Context) error {
	if err := m.load(ctx); err != nil {
		return fmt.Errorf("load %s: %w", m.name, err)
	}
	return nil
}

// load returns when the model has embedded a text. Canceling the request would abort
// the loading, so the timeout is long.
func (m *model) load(ctx context.Context) error {
	return limit(ctx, loadTimeout, func(ctx context.Context) error {
		id, err := m.identity(ctx)
		if err != nil {
			return err
		}
		r := run{model: m, id: id, bound: loadTimeout, vectors: make([][]float32, 1)}
		return r.send(ctx, []job{{text: sample}})
	})
}

func (m *model) watch(ctx context.Context) {
	m.watched.Store(true)
	defer m.watched.Store(false)
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			m.probe(ctx)
		}
	}
}

// probe probes the server when a probe is due. For queries it counts as available only
// when it is fast enough.
func (m *model) probe(ctx context.Context) {
	for purpose, b := range m.breakers {
		if !b.HalfOpen() {
			continue
		}
		_ = b.Do(ctx, func() error { // the breaker stores the error
			err := m.load(ctx)
			if err == nil && Purpose(purpose) == Query {
				_, err = m.embed(ctx, Query, []string{sample})
			}
			return err
		})
	}
}
