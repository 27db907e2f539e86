package records

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sync/errgroup"

	"cairn/bus"
	"cairn/deploy/internal/client"
	"cairn/deploy/internal/output"
	"cairn/schemas"
)

// retryTimeout bounds the retries of a record while the server is overloaded.
const retryTimeout = time.Minute

// Outcome is the result of registering a record.
type Outcome struct {
	Err      error
	Later    bool // not searchable yet: a dependency is unavailable
	Revision uint64
}

// Register registers the records and returns an outcome for each. It shows its progress
// on errOut.
func Register(ctx context.Context, c *client.HTTP, list []Record, errOut io.Writer) ([]Outcome, error) {
	if err := c.Reachable(ctx); err != nil {
		return nil, err
	}
	bar := output.Progress(errOut, "registering", len(list))
	outcomes := sendAll(ctx, c, list, func() { _ = bar.Add(1) })
	return outcomes, bar.Close()
}

// RegisterSearchable registers records and returns when all of them are searchable, or an
// error after the timeout or if one is rejected. It registers records that were not
// indexed at once again.
func RegisterSearchable(ctx context.Context, c *client.HTTP, list []Record, timeout time.Duration, errOut io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		outcomes, err := Register(ctx, c, list, errOut)
		if err != nil {
			return err
		}
		var later []Record
		var refused []Refusal
		for i, o := range outcomes {
			switch {
			case o.Err != nil:
				refused = append(refused, NewRefusal(list[i], o.Err))
			case o.Later:
				later = append(later, list[i])
			}
		}
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("waiting until the corpus is searchable (see cairn status): %w", ctx.Err())
		case len(refused) > 0:
			return fmt.Errorf("%d records were rejected, for example %s: %s", len(refused), refused[0].Source, refused[0])
		case len(later) == 0:
			return nil
		}
		if err := await(ctx, c, later[0]); err != nil {
			return err
		}
		list = later
	}
}

// await registers r repeatedly until it is indexed at once.
func await(ctx context.Context, c *client.HTTP, r Record) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		if o := send(ctx, c, r); ctx.Err() == nil && (o.Err != nil || !o.Later) {
			return o.Err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting until the corpus is searchable (see cairn status): %w", ctx.Err())
		}
	}
}

// sendAll registers the records concurrently, records with the same ID in order, and
// calls each after each record. It returns when all requests have completed.
func sendAll(ctx context.Context, c *client.HTTP, list []Record, each func()) []Outcome {
	outcomes := make([]Outcome, len(list))
	queue := make(chan []int)
	var sending sync.WaitGroup
	for range client.MaxConnections {
		sending.Go(func() {
			for same := range queue {
				for _, i := range same {
					outcomes[i] = send(ctx, c, list[i])
					each()
				}
			}
		})
	}
	for _, same := range byID(list) {
		queue <- same
	}
	close(queue)
	sending.Wait()
	return outcomes
}

// byID groups the indexes of records with the same ID, in order.
func byID(list []Record) [][]int {
	var all [][]int
	first := map[[3]string]int{}
	for i, r := range list {
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
func send(ctx context.Context, c *client.HTTP, r Record) Outcome {
	if r.wrong != nil {
		return Outcome{Err: r.wrong}
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
		return Outcome{Err: err}
	}
	var said schemas.Registered
	err = json.Unmarshal(got.Body, &said)
	revision, _ := strconv.ParseUint(got.Header.Get(bus.HeaderRevision), 10, 64) // 0 if absent
	return Outcome{Err: err, Later: said.Indexed != nil && !*said.Indexed, Revision: revision}
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

const (
	// removeTimeout bounds the removal of records, including after an interrupt.
	removeTimeout = 2 * time.Minute
	// removals is the maximum number of attempts to remove a record.
	removals = 3
	// maxRemovals is the maximum number of concurrent removals.
	maxRemovals = 32
)

// Remove removes records of a tenant, including those whose registration failed. It
// retries failed removals, and returns the number of records that are left and an error
// of one of them.
func Remove(ctx context.Context, c *client.HTTP, list []Record, tenant string) (left int, err error) {
	ctx, cancel := context.WithTimeout(ctx, removeTimeout)
	defer cancel()
	for try := 0; try < removals && len(list) > 0; try++ {
		list, err = removeOnce(ctx, c, list, tenant)
	}
	return len(list), err
}

// removeOnce returns the records that it could not remove, and the error of the first.
func removeOnce(ctx context.Context, c *client.HTTP, list []Record, tenant string) (left []Record, first error) {
	errs := make([]error, len(list))
	var removing errgroup.Group
	removing.SetLimit(maxRemovals)
	for i, r := range list {
		removing.Go(func() error {
			errs[i] = c.Delete(ctx, "/register/"+r.Kind+"/"+url.PathEscape(r.ID)+"?tenant_id="+url.QueryEscape(tenant))
			return nil
		})
	}
	_ = removing.Wait() // errs has the errors
	for i, err := range errs {
		if err != nil {
			left, first = append(left, list[i]), cmp.Or(first, err)
		}
	}
	return left, first
}
