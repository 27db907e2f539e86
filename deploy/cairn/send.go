package main

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/bus"
	"cairn/deploy/internal/client"
	"cairn/schemas"
)

const (
	// retryTimeout bounds the retries of a record while the server is overloaded.
	retryTimeout = time.Minute
)

// outcome is the result of registering a record.
type outcome struct {
	err      error
	later    bool // not searchable yet: a dependency is unavailable
	revision uint64
}

// sendAll registers the records concurrently, records with the same ID in order, and
// calls each after each record. It returns when all requests have completed.
func sendAll(ctx context.Context, c *client.HTTP, records []record, each func()) []outcome {
	outcomes := make([]outcome, len(records))
	queue := make(chan []int)
	var sending sync.WaitGroup
	for range client.MaxConnections {
		sending.Go(func() {
			for same := range queue {
				for _, i := range same {
					outcomes[i] = send(ctx, c, records[i])
					each()
				}
			}
		})
	}
	for _, same := range byID(records) {
		queue <- same
	}
	close(queue)
	sending.Wait()
	return outcomes
}

// byID groups the indexes of records with the same ID, in order.
func byID(records []record) [][]int {
	var all [][]int
	first := map[[3]string]int{}
	for i, r := range records {
		id := [3]string{r.Kind, r.ID, string(r.tenant)}
		at, ok := first[id]
		if !ok {
			at = len(all)
			first[id] = at
			all = append(all, nil)
		}
		all[at] = append(all[at], i)
	}
	return all
}

// send registers one record. It retries while the server is overloaded.
func send(ctx context.Context, c *client.HTTP, r record) outcome {
	if r.wrong != nil {
		return outcome{err: r.wrong}
	}
	again := &backoff.ExponentialBackOff{
		InitialInterval: 100 * time.Millisecond, MaxInterval: 3 * time.Second,
		Multiplier: 2, RandomizationFactor: backoff.DefaultRandomizationFactor,
	}
	got, err := backoff.Retry(ctx, func() (client.Answer, error) {
		a, err := c.Post(ctx, "/register/"+r.Kind, jsontext.Value(r.body))
		if busy(err) {
			return a, err
		}
		return a, permanent(err)
	}, backoff.WithBackOff(again), backoff.WithMaxElapsedTime(retryTimeout))
	if err != nil {
		return outcome{err: err}
	}
	var said schemas.Registered
	err = json.Unmarshal(got.Body, &said)
	revision, _ := strconv.ParseUint(got.Header.Get(bus.HeaderRevision), 10, 64) // 0 if absent
	return outcome{err: err, later: said.Indexed != nil && !*said.Indexed, revision: revision}
}

func busy(err error) bool {
	var e *schemas.Error
	return errors.As(err, &e) && (e.Status == http.StatusServiceUnavailable || e.Status == http.StatusTooManyRequests)
}

func permanent(err error) error {
	if err == nil {
		return nil
	}
	return backoff.Permanent(err)
}
