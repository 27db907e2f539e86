package ollama

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ollama/ollama/api"
	ollama "github.com/ollama/ollama/types/model"
)

const (
	// unloadTimeout bounds unloading a model.
	unloadTimeout = 10 * time.Second
	// unloadPoll is the interval of checks for a loaded model.
	unloadPoll = 50 * time.Millisecond
)

// reloads counts the reloads of the model. It also is a lock: a goroutine that receives
// the count holds the lock until it sends the count back.
type reloads chan int

func newReloads() reloads {
	r := make(reloads, 1)
	r <- 0
	return r
}

// count returns the number of reloads. It waits while one is in progress.
func (r reloads) count(ctx context.Context) (int, error) {
	select {
	case n := <-r:
		r <- n
		return n, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// reload unloads the model, so that the next request gets a new runner with all slots
// free. Of the requests that failed after the same number of reloads one reloads, and
// the others wait for it.
func (m *Model) reload(ctx context.Context, n int) error {
	select {
	case count := <-m.reloads:
		if count != n {
			m.reloads <- count
			return nil
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { m.reloads <- n + 1 }()
	if err := m.unload(ctx); err != nil {
		return fmt.Errorf("unload the model: %w", err)
	}
	return nil
}

// unload returns when the model is unloaded: an earlier request would reach the stalled
// runner.
func (m *Model) unload(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, unloadTimeout)
	defer cancel()
	tick := time.NewTicker(unloadPoll)
	defer tick.Stop()
	req := &api.ChatRequest{Model: m.settings.model, KeepAlive: &api.Duration{}}
	for {
		err := m.client.Chat(ctx, req, func(api.ChatResponse) error { return nil })
		loaded, listErr := m.loaded(ctx)
		if err := errors.Join(err, listErr, ctx.Err()); err != nil || !loaded {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (m *Model) loaded(ctx context.Context) (bool, error) {
	running, err := m.client.ListRunning(ctx)
	if err != nil {
		return false, err
	}
	name := ollama.ParseName(m.settings.model)
	for _, r := range running.Models {
		if ollama.ParseName(r.Name).EqualFold(name) {
			return true, nil
		}
	}
	return false, nil
}
