package embed

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/ollama/ollama/api"
)

// run executes one call of Embed.
type run struct {
	*model
	purpose Purpose
	info    *modelInfo
	bound   time.Duration // per request
	vectors [][]float32
}

const (
	// attempts is the number of tries for a text that the model fails on.
	attempts = 3
	// probeTimeout suffices to reload most models.
	probeTimeout = 15 * time.Second
)

// do embeds a batch. One rejected text fails the whole request: then each text is
// sent alone.
func (r *run) do(ctx context.Context, batch []job) error {
	if len(batch) == 1 {
		return r.fit(ctx, batch[0])
	}
	err := r.send(ctx, batch)
	if !errors.Is(err, ErrRejected) && !r.textFailed(ctx, err) {
		return err
	}
	for _, j := range batch {
		if err := r.fit(ctx, j); err != nil {
			return err
		}
	}
	return nil
}

// fit embeds as much of a text as the model accepts.
func (r *run) fit(ctx context.Context, j job) error {
	whole := j.text
	j.text = truncateWords(whole, r.info.window)
	err := r.send(ctx, []job{j})
	for attempt := 1; r.textFailed(ctx, err); attempt++ {
		if attempt == attempts {
			return fmt.Errorf("%q: %w: the model fails deterministically on it: %w", excerpt(r.purpose, whole), ErrRejected, err)
		}
		err = r.send(ctx, []job{j})
	}
	for errors.Is(err, errTooLong) && j.text != "" {
		if j.text = dropLastTenth(j.text); j.text != "" {
			err = r.send(ctx, []job{j})
		}
	}
	if err != nil {
		return fmt.Errorf("%q: %w", excerpt(r.purpose, whole), err)
	}
	if j.text != whole {
		r.logTruncated(r.purpose, whole, j.text)
	}
	return nil
}

// textFailed reports whether err is caused by the text and not by the server, which still
// embeds a sample. Queries skip the check.
func (r *run) textFailed(ctx context.Context, err error) bool {
	var status api.StatusError
	failed := errors.As(err, &status) && status.StatusCode == http.StatusInternalServerError &&
		!errors.Is(err, ErrRejected)
	if r.purpose == Query || !failed && !errors.Is(err, errTimeout) {
		return false
	}
	return limit(ctx, min(r.bound, probeTimeout), func(ctx context.Context) error {
		_, err := r.requestVectors(ctx, []string{sample})
		return err
	}) == nil
}

// send embeds jobs in one request with a timeout.
func (r *run) send(ctx context.Context, jobs []job) error {
	inputs := make([]string, len(jobs))
	for i, j := range jobs {
		inputs[i] = r.prefixes[r.purpose] + j.text
	}
	return limit(ctx, r.bound, func(ctx context.Context) error {
		got, err := r.requestVectors(ctx, inputs)
		if err != nil {
			return err
		}
		for i, j := range jobs {
			if len(got[i]) != r.info.dimensions {
				return unavailable("a vector has %d dimensions, expected %d as in earlier vectors", len(got[i]), r.info.dimensions)
			}
			r.vectors[j.position] = got[i]
		}
		return nil
	})
}
