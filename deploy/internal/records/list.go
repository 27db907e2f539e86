package records

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"cairn/edge/client"
	"cairn/schemas"
)

// MaxReads is the maximum number of concurrent requests. More would overload a server and cause
// retries.
const MaxReads = 32

// Concurrently calls do with 0 to n-1, at most MaxReads calls at a time, and returns after all of them.
func Concurrently(n int, do func(i int)) {
	var group errgroup.Group
	group.SetLimit(MaxReads)
	for i := range n {
		group.Go(func() error {
			do(i)
			return nil
		})
	}
	_ = group.Wait() // no call returns an error
}

// Scope selects the records of a tenant, or without a tenant the global ones.
type Scope struct {
	Tenant string
	Kinds  []string
	Labels string // a selector; empty: any
	Limit  int    // maximum number of records; 0: unlimited
}

// List returns summaries of the records, or an error if there are more than the limit.
func (s Scope) List(ctx context.Context, c *client.Client) (list []client.Record, err error) {
	q := schemas.RecordQuery{TenantID: schemas.Optional(s.Tenant), Scope: schemas.ScopeOf(s.Tenant), Labels: s.Labels,
		Limit: new(1000)}
	for _, q.Kind = range s.Kinds {
		for r, err := range c.List(ctx, q) {
			if err != nil {
				return nil, err
			}
			if list = append(list, r); s.Limit > 0 && len(list) > s.Limit {
				return nil, fmt.Errorf("expected at most %d records", s.Limit)
			}
		}
	}
	return list, nil
}

// ReadWhole replaces summaries by the whole records, and calls read with the number of further ones. A record that was
// deleted meanwhile has no JSON.
func ReadWhole(ctx context.Context, c *client.Client, list []client.Record, read func(n int)) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(MaxReads)
	for i, r := range list {
		group.Go(func() error {
			whole, err := c.Get(ctx, ExactKey(r.Kind, r.ID, r.Tenant))
			if errors.Is(err, schemas.ErrRecordNotFound) {
				list[i].JSON = nil
				return nil
			}
			list[i] = whole
			read(1)
			return err
		})
	}
	return group.Wait()
}
