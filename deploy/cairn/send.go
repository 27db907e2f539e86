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
	"cairn/schemas"
)

const (
	// retryTimeout is how long a record is sent again when the server is busy.
	retryTimeout = time.Minute
	// registrations is how many are in flight, at most: what comes together is
	// synced and indexed together. It is half of what a worker takes by default.
	registrations = 512
)

// outcome is what became of a record.
type outcome struct {
	err      error
	later    bool // searchable later: a dependency is away
	revision uint64
}

// reachable says early when there is no server at all. One that is not well is
// reachable: it may be by the time it is asked.
func (c *client) reachable(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	res, err := c.open(ctx, http.MethodGet, "/health", nil)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// sendAll registers the records over many connections, those of one id in
// their order, and calls each after each. It returns when all are done.
func (c *client) sendAll(ctx context.Context, records []record, each func()) []outcome {
	outcomes := make([]outcome, len(records))
	queue := make(chan []int)
	var sending sync.WaitGroup
	for range registrations {
		sending.Go(func() {
			for same := range queue {
				for _, i := range same {
					outcomes[i] = c.send(ctx, records[i])
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

// byID is the places of the records, those of one id together in their order.
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

// send registers one record, and again while the server is busy.
func (c *client) send(ctx context.Context, r record) outcome {
	if r.wrong != nil {
		return outcome{err: r.wrong}
	}
	again := &backoff.ExponentialBackOff{
		InitialInterval: 100 * time.Millisecond, MaxInterval: 3 * time.Second,
		Multiplier: 2, RandomizationFactor: backoff.DefaultRandomizationFactor,
	}
	got, err := backoff.Retry(ctx, func() (answer, error) {
		a, err := c.post(ctx, "/register/"+r.Kind, jsontext.Value(r.body))
		if busy(err) {
			return a, err
		}
		return a, permanent(err)
	}, backoff.WithBackOff(again), backoff.WithMaxElapsedTime(retryTimeout))
	if err != nil {
		return outcome{err: err}
	}
	var said schemas.Registered
	err = json.Unmarshal(got.body, &said)
	revision, _ := strconv.ParseUint(got.header.Get(bus.HeaderRevision), 10, 64) // absent: 0
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
