package embed

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// run makes the vectors of one call of Embed.
type run struct {
	*model
	purpose Purpose
	id      *identity
	bound   time.Duration // of one request
	vectors [][]float32
}

// do embeds a batch. One text that is refused fails all of a request: then
// each is sent alone.
func (r *run) do(ctx context.Context, batch []job) error {
	if len(batch) == 1 {
		return r.fit(ctx, batch[0])
	}
	err := r.send(ctx, batch)
	if !errors.Is(err, ErrRefused) {
		return err
	}
	for _, j := range batch {
		if err := r.fit(ctx, j); err != nil {
			return err
		}
	}
	return nil
}

// fit embeds as much of a text as the model takes.
func (r *run) fit(ctx context.Context, j job) error {
	whole := j.text
	j.text = within(whole, r.id.window)
	err := r.send(ctx, []job{j})
	for errors.Is(err, errTooLong) && j.text != "" {
		if j.text = shorter(j.text); j.text != "" {
			err = r.send(ctx, []job{j})
		}
	}
	if err != nil {
		return fmt.Errorf("%q: %w", beginning(r.purpose, whole), err)
	}
	if j.text != whole {
		r.note(r.purpose, whole, j.text)
	}
	return nil
}

// send embeds jobs in one request, bounded in time.
func (r *run) send(ctx context.Context, jobs []job) error {
	inputs := make([]string, len(jobs))
	for i, j := range jobs {
		inputs[i] = r.prefixes[r.purpose] + j.text
	}
	return limit(ctx, r.bound, func(ctx context.Context) error {
		got, err := r.ask(ctx, inputs)
		if err != nil {
			return err
		}
		for i, j := range jobs {
			if len(got[i]) != r.id.dimensions {
				return unavailable("a vector has %d dimensions, those before it had %d", len(got[i]), r.id.dimensions)
			}
			r.vectors[j.at] = got[i]
		}
		return nil
	})
}
