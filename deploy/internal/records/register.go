package records

import (
	"cmp"
	"context"
	"fmt"
	"io"
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

// RegisterSearchable registers records and returns when all of them are searchable, or an
// error after the timeout or if one is rejected. It retries the registration of
// records that were not indexed immediately.
func RegisterSearchable(ctx context.Context, c *client.Client, list []Record, timeout time.Duration,
	errOut io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		outcomes := register(ctx, c, list, errOut)
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
		if err := waitIndexed(ctx, c, later[0], errOut); err != nil {
			return err
		}
		list = later
	}
}

// register registers the records and returns an outcome for each. It shows its progress on
// errOut.
func register(ctx context.Context, c *client.Client, list []Record, errOut io.Writer) []Outcome {
	bar := output.NewProgress(errOut, "registering", len(list))
	defer bar.Close()
	outcomes := make([]Outcome, len(list))
	for _, batch := range DistinctBatches(list) {
		SendAll(ctx, c, list, batch, false, func(i int, o Outcome) {
			outcomes[i] = o
			bar.Add(1)
		})
	}
	return outcomes
}

// waitIndexed registers r repeatedly until the response reports that it is indexed.
func waitIndexed(ctx context.Context, c *client.Client, r Record, errOut io.Writer) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		if o := register(ctx, c, []Record{r}, errOut)[0]; ctx.Err() == nil && (o.Err != nil || !o.Later) {
			return o.Err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting until the corpus is searchable (see cairn status): %w", ctx.Err())
		}
	}
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

// SendAll registers the records with the indexes, which must have distinct IDs, and calls done
// with the outcome of each. With strict, a record with warnings is rejected.
func SendAll(ctx context.Context, c *client.Client, list []Record, indexes []int, strict bool,
	done func(i int, o Outcome)) {
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

const (
	// deleteTimeout bounds the removal of records, including after an interrupt.
	deleteTimeout = 2 * time.Minute
	// maxDeleteAttempts is the maximum number of attempts to delete a record.
	maxDeleteAttempts = 3
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
	Concurrently(len(list), func(i int) {
		key := schemas.RecordKey{Kind: list[i].Kind, ID: list[i].ID, TenantID: &tenant}
		errs[i] = c.Delete(ctx, key, schemas.Precondition{})
	})
	for i, err := range errs {
		if err != nil {
			left, first = append(left, list[i]), cmp.Or(first, err)
		}
	}
	return left, first
}
