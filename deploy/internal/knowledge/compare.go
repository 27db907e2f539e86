package knowledge

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/aymanbagabas/go-udiff"
	"github.com/go-json-experiment/json/jsontext"

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
	token  string         // of the stored revision
	// change is the registration of the stored revision; zero unless print is to name it.
	change schemas.RecordRevision
	wanted jsontext.Value // as the registration stores it
}

// compare compares a record with the stored one in the scope of its tenant.
func compare(ctx context.Context, c *client.Client, r records.Record) (difference, error) {
	put, err := r.Put()
	if err != nil {
		return difference{}, err
	}
	wanted, err := put.Stored()
	if err != nil {
		return difference{}, err
	}
	d := difference{action: created, wanted: wanted}
	stored, err := c.Get(ctx, r.Key())
	switch {
	case errors.Is(err, schemas.ErrRecordNotFound):
		return d, nil
	case err != nil:
		return d, err
	}
	d.action, d.stored, d.token = configured, stored.JSON, stored.Token.String()
	if bytes.Equal(canonical(d.stored), canonical(d.wanted)) {
		d.action = unchanged
	}
	return d, nil
}

// changeAt returns the change that has stored a revision of the record; zero if the history does not have it.
func changeAt(ctx context.Context, c *client.Client, key schemas.RecordKey,
	token string) (change schemas.RecordRevision, err error) {
	list, err := c.History(ctx, key)
	if i := slices.IndexFunc(list, func(r schemas.RecordRevision) bool { return r.Revision == token }); i >= 0 {
		change = list[i]
	}
	return change, err
}

// canonical returns v with sorted members and the digits of its numbers.
func canonical(v jsontext.Value) jsontext.Value {
	v = v.Clone()
	if v.Canonicalize(jsontext.CanonicalizeRawInts(true), jsontext.CanonicalizeRawFloats(true)) != nil {
		return nil // not JSON: equal to nothing but itself
	}
	return v
}

// print writes the unified diff of the stored YAML of r and that of its file, and reports whether they differ.
func (d difference) print(out io.Writer, r records.Record) (different bool, err error) {
	texts := [2]string{}
	for i, v := range []jsontext.Value{d.stored, d.wanted} {
		if v == nil {
			continue
		}
		text, err := output.YAML(canonical(v))
		if err != nil {
			return false, err
		}
		texts[i] = string(text)
	}
	registered := output.Joined("registered "+name(r.Kind, r.ID), d.change.StoredAt, d.change.Actor, d.change.Message)
	text := udiff.Unified(output.Escaped(registered), r.Source+" "+name(r.Kind, r.ID), texts[0], texts[1])
	_, err = io.WriteString(out, text)
	return text != "", err
}
