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
	// reviveTimeout bounds the wait for the server to let go of a model.
	reviveTimeout = 10 * time.Second
	// revivePoll is how often the server is asked whether it has.
	revivePoll = 50 * time.Millisecond
)

// rounds counts how often the model was revived. It is a lock as well: who
// takes the number holds it until it is put back.
type rounds chan int

func newRounds() rounds {
	r := make(rounds, 1)
	r <- 0
	return r
}

// now is the number of the round; it waits while a revival is under way.
func (r rounds) now(ctx context.Context) (int, error) {
	select {
	case n := <-r:
		r <- n
		return n, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// revive unloads the model, so that the next request gets a new runner with
// all slots free. One request does it for all: the others of its round wait,
// and find it done.
func (m *Model) revive(ctx context.Context, round int) error {
	select {
	case n := <-m.rounds:
		if n != round {
			m.rounds <- n
			return nil
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { m.rounds <- round + 1 }()
	if err := m.unload(ctx); err != nil {
		return fmt.Errorf("unload the model: %w", err)
	}
	return nil
}

// unload returns when the model is gone: a request that came earlier would be
// given to the runner that hangs.
func (m *Model) unload(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, reviveTimeout)
	defer cancel()
	tick := time.NewTicker(revivePoll)
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
