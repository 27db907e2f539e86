package records

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

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

// Registrar registers records.
type Registrar struct {
	Client *client.Client
	Strict bool      // reject records with warnings
	ErrOut io.Writer // for the progress of RegisterSearchable
}

// RegisterSearchable registers records and returns when all of them are searchable, or an
// error after the timeout or if one is rejected. It retries the registration of
// records that were not indexed immediately.
func (r Registrar) RegisterSearchable(ctx context.Context, list []Record, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	later, err := r.register(ctx, list)
	for err == nil && len(later) > 0 {
		first := later[:1] // until it is indexed, the others are not registered again
		for err == nil && len(first) > 0 {
			if first, err = r.register(ctx, first); len(first) > 0 {
				select {
				case <-tick.C:
				case <-ctx.Done():
				}
			}
		}
		if err == nil {
			later, err = r.register(ctx, later)
		}
	}
	return err
}

// register registers the records and returns those that are not searchable yet, or an error if ctx ends or one is
// rejected. It shows its progress.
func (r Registrar) register(ctx context.Context, list []Record) (later []Record, err error) {
	bar := output.NewProgress(r.ErrOut, "registering", len(list))
	defer bar.Close()
	var rejected []Rejection
	for _, batch := range DistinctBatches(list) {
		r.Send(ctx, list, batch, func(i int, o Outcome) {
			bar.Add(1)
			switch {
			case o.Err != nil:
				rejected = append(rejected, NewRejection(list[i], o.Err))
			case o.Later:
				later = append(later, list[i])
			}
		})
	}
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("waiting until the corpus is searchable (see cairn status): %w", ctx.Err())
	case len(rejected) > 0:
		return nil, fmt.Errorf("%d records were rejected, for example %s: %s", len(rejected), rejected[0].Source, rejected[0])
	}
	return later, nil
}

// DistinctBatches returns the indexes of the records, such that a batch has no two records with the same
// ID, and earlier ones are in earlier batches.
func DistinctBatches(list []Record) (batches [][]int) {
	copies := map[[3]string]int{}
	for i, r := range list {
		id := [3]string{r.Kind, r.ID, r.Tenant}
		n := copies[id]
		copies[id]++
		if n == len(batches) {
			batches = append(batches, nil)
		}
		batches[n] = append(batches[n], i)
	}
	return batches
}

// Send registers the records with the indexes, which must have distinct IDs, and calls done with the
// outcome of each.
func (r Registrar) Send(ctx context.Context, list []Record, indexes []int, done func(i int, o Outcome)) {
	bulk := make([]schemas.BulkRecord, len(indexes))
	left := map[int]bool{}
	for n, i := range indexes {
		bulk[n] = schemas.BulkRecord{Kind: list[i].Kind, ID: list[i].ID, Record: list[i].JSON}
		left[i] = true
	}
	err := r.Client.PutAll(ctx, bulk, r.Strict, func(n int, result schemas.RecordResult) {
		delete(left, indexes[n])
		o := Outcome{Warnings: result.Warnings, Later: result.Indexed != nil && !*result.Indexed}
		if result.Error != nil {
			o.Err = result.Error
		}
		if token, err := schemas.ParseConsistencyToken(result.Revision); err == nil {
			o.Revision = token.Revision
		}
		done(indexes[n], o)
	})
	for i := range left {
		done(i, Outcome{Err: err})
	}
}

// deleteTimeout bounds the removal of records, including after an interrupt.
const deleteTimeout = 2 * time.Minute

// Delete deletes records of a tenant, including those whose registration failed. It returns an error with
// the number of records that are left.
func Delete(ctx context.Context, c *client.Client, list []Record, tenant string) error {
	ctx, cancel := context.WithTimeout(ctx, deleteTimeout)
	defer cancel()
	errs := make([]error, len(list))
	Concurrently(len(list), func(i int) {
		record := schemas.Unregister{Kind: list[i].Kind, ID: list[i].ID, TenantID: &tenant}
		_, errs[i] = c.Delete(ctx, schemas.DeleteRecord{Unregister: record, Force: true}, schemas.Precondition{})
	})
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) > 0 {
		return fmt.Errorf("%d records of tenant %s could not be removed: %w", len(errs), tenant, errs[0])
	}
	return nil
}
