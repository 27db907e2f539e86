package knowledge

import (
	"bytes"
	"context"
	"errors"

	"github.com/aymanbagabas/go-udiff"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sync/errgroup"

	"cairn/deploy/internal/output"
	"cairn/deploy/internal/records"
	"cairn/edge/client"
	"cairn/schemas"
)

// Actions that bring the catalog to the state of a file.
const (
	created    = "created"
	configured = "configured"
	unchanged  = "unchanged"
	pruned     = "pruned"
)

// difference is a record of a file compared with the stored one.
type difference struct {
	action string
	stored jsontext.Value // nil: not registered
	wanted jsontext.Value // as the registration stores it
}

// compareAll compares the records at the indexes with the stored ones, and calls done with
// each difference, concurrently.
func compareAll(ctx context.Context, c *client.Client, list []records.Record, indexes []int,
	done func(i int, d difference, err error)) {
	var comparing errgroup.Group
	comparing.SetLimit(records.MaxReads)
	for _, i := range indexes {
		comparing.Go(func() error {
			d, err := compare(ctx, c, list[i])
			done(i, d, err)
			return nil
		})
	}
	_ = comparing.Wait() // the errors were passed to done
}

// compare compares a record with the stored one in the scope of its tenant.
func compare(ctx context.Context, c *client.Client, r records.Record) (difference, error) {
	if err := r.Validate(); err != nil {
		return difference{}, err
	}
	put := r.Put()
	if err := put.Validate(); err != nil {
		return difference{}, err
	}
	wanted, err := put.Stored()
	if err != nil {
		return difference{}, err
	}
	d := difference{action: created, wanted: wanted}
	found, err := c.Get(ctx, r.Key())
	switch {
	case errors.Is(err, schemas.ErrRecordNotFound):
		return d, nil
	case err != nil:
		return d, err
	}
	d.action, d.stored = configured, found.JSON
	if equal(d.stored, d.wanted) {
		d.action = unchanged
	}
	return d, nil
}

// equal reports whether two JSON values differ at most in white space and in the order of
// members.
func equal(a, b jsontext.Value) bool { return bytes.Equal(canonical(a), canonical(b)) }

// canonical returns v with sorted members and the digits of its numbers.
func canonical(v jsontext.Value) jsontext.Value {
	v = v.Clone()
	if v.Canonicalize(jsontext.CanonicalizeRawInts(true), jsontext.CanonicalizeRawFloats(true)) != nil {
		return nil // not JSON: equal to nothing but itself
	}
	return v
}

// unified returns the unified diff of the YAML of two records; empty if they are equal. A
// nil record is empty.
func unified(from, to string, a, b jsontext.Value) (string, error) {
	texts := [2]string{}
	for i, v := range []jsontext.Value{a, b} {
		if v == nil {
			continue
		}
		text, err := output.YAML(canonical(v))
		if err != nil {
			return "", err
		}
		texts[i] = string(text)
	}
	return udiff.Unified(from, to, texts[0], texts[1]), nil
}
