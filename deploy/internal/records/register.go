package records

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"cairn/deploy/internal/output"
	"cairn/edge/client"
	"cairn/schemas"
)

// RetryTimeout bounds the retries of a record while the server is overloaded.
const RetryTimeout = time.Minute

// Outcome is the result of registering a record.
type Outcome struct {
	Err      error
	Warnings []schemas.FieldError
	Later    bool // not searchable yet: a dependency is unavailable
	Revision uint64
}

// Register registers the records and returns an outcome for each. It shows its progress
// on errOut.
func Register(ctx context.Context, c *client.Client, list []Record, errOut io.Writer) ([]Outcome, error) {
	if err := c.Ping(ctx); err != nil {
		return nil, err
	}
	bar := output.NewProgress(errOut, "registering", len(list))
	defer bar.Close()
	outcomes := make([]Outcome, len(list))
	Concurrently(list, func(i int) {
		outcomes[i] = Send(ctx, c, list[i])
		bar.Add(1)
	})
	return outcomes, nil
}

// RegisterSearchable registers records and returns when all of them are searchable, or an
// error after the timeout or if one is rejected. It retries the registration of
// records that were not indexed immediately.
func RegisterSearchable(ctx context.Context, c *client.Client, list []Record, timeout time.Duration, errOut io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		outcomes, err := Register(ctx, c, list, errOut)
		if err != nil {
			return err
		}
		var later []Record
		var rejected []Rejection
		for i, o := range outcomes {
			switch {
			case o.Err != nil:
				rejected = append(rejected, NewRejection(list[i], o.Err))
			case o.Later:
				later = append(later, list[i])
			}
		}
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("waiting until the corpus is searchable (see cairn status): %w", ctx.Err())
		case len(rejected) > 0:
			return fmt.Errorf("%d records were rejected, for example %s: %s", len(rejected), rejected[0].Source, rejected[0])
		case len(later) == 0:
			return nil
		}
		if err := waitIndexed(ctx, c, later[0]); err != nil {
			return err
		}
		list = later
	}
}

// waitIndexed registers r repeatedly until the response reports that it is indexed.
func waitIndexed(ctx context.Context, c *client.Client, r Record) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		if o := Send(ctx, c, r); ctx.Err() == nil && (o.Err != nil || !o.Later) {
			return o.Err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting until the corpus is searchable (see cairn status): %w", ctx.Err())
		}
	}
}

// Concurrently calls do with each index of list, concurrently for records with different
// IDs and in order for those with the same. It returns when all calls have returned.
func Concurrently(list []Record, do func(int)) {
	queue := make(chan []int)
	var sending sync.WaitGroup
	for range min(client.MaxConnections, len(list)) {
		sending.Go(func() {
			for same := range queue {
				for _, i := range same {
					do(i)
				}
			}
		})
	}
	for _, same := range byID(list) {
		queue <- same
	}
	close(queue)
	sending.Wait()
}

// DistinctBatches returns the indexes of the records, such that a batch has no two records with the same
// ID, and earlier ones are in earlier batches.
func DistinctBatches(list []Record) (batches [][]int) {
	for _, same := range byID(list) {
		for n, i := range same {
			if n == len(batches) {
				batches = append(batches, nil)
			}
			batches[n] = append(batches[n], i)
		}
	}
	return batches
}

// byID groups the indexes of records with the same ID, in order.
func byID(list []Record) [][]int {
	var all [][]int
	first := map[[3]string]int{}
	for i, r := range list {
		id := [3]string{r.Kind, r.ID, r.Tenant}
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

// SendAll registers the records with the indexes, of which no two have the same ID, strictly
// if strict is set, and calls done with the outcome of each.
func SendAll(ctx context.Context, c *client.Client, list []Record, indexes []int, strict bool, done func(i int, o Outcome)) {
	bulk := make([]schemas.BulkRecord, len(indexes))
	left := map[int]bool{}
	for n, i := range indexes {
		bulk[n] = schemas.BulkRecord{Kind: list[i].Kind, ID: list[i].ID, Record: list[i].JSON}
		left[i] = true
	}
	err := c.PutAll(ctx, bulk, strict, func(n int, r schemas.RecordResult) {
		delete(left, indexes[n])
		o := Outcome{Warnings: r.Warnings, Later: r.Indexed != nil && !*r.Indexed}
		if r.Error != nil {
			o.Err = r.Error
		}
		if token, err := schemas.ParseConsistencyToken(r.Revision); err == nil {
			o.Revision = token.Revision
		}
		done(indexes[n], o)
	})
	for i := range left {
		done(i, Outcome{Err: err})
	}
}

// Send registers one record.
func Send(ctx context.Context, c *client.Client, r Record) Outcome {
	if err := r.Validate(); err != nil {
		return Outcome{Err: err}
	}
	got, err := c.Put(ctx, r.Put(), schemas.Precondition{})
	return Outcome{Err: err, Warnings: got.Warnings, Later: got.Indexed != nil && !*got.Indexed, Revision: got.Token.Revision}
}

const (
	// deleteTimeout bounds the removal of records, including after an interrupt.
	deleteTimeout = 2 * time.Minute
	// maxDeleteAttempts is the maximum number of attempts to delete a record.
	maxDeleteAttempts = 3
	// maxConcurrentDeletes is the maximum number of concurrent deletes.
	maxConcurrentDeletes = 32
)

// Delete deletes records of a tenant, including those whose registration failed. It
// retries failed deletes, and returns an error with the number of records that are left.
func Delete(ctx context.Context, c *client.Client, list []Record, tenant string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	for try := 0; try < maxDeleteAttempts && len(list) > 0; try++ {
		list, err = deleteOnce(ctx, c, list, tenant)
	}
	if err != nil {
		return fmt.Errorf("%d records of tenant %s could not be removed: %w", len(list), tenant, err)
	}
	return nil
}

// deleteOnce returns the records that it could not delete, and the error of the first.
func deleteOnce(ctx context.Context, c *client.Client, list []Record, tenant string) (left []Record, first error) {
	errs := make([]error, len(list))
	var deleting errgroup.Group
	deleting.SetLimit(maxConcurrentDeletes)
	for i, r := range list {
		deleting.Go(func() error {
			errs[i] = c.Delete(ctx, schemas.RecordKey{Kind: r.Kind, ID: r.ID, TenantID: &tenant}, schemas.Precondition{})
			return nil
		})
	}
	_ = deleting.Wait() // errs collects the errors by index
	for i, err := range errs {
		if err != nil {
			left, first = append(left, list[i]), cmp.Or(first, err)
		}
	}
	return left, first
}
