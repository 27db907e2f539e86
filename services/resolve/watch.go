package resolve

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/scope"
)

// watchDuration is the time after which a watch ends, so that its client continues after the last
// event at another worker.
const watchDuration = 55 * time.Minute

// errWatchEnds ends a watch without an error.
var errWatchEnds = errors.New("the watch ends")

// watch sends an event for each change that the request selects, until ctx ends or the
// service stops.
func watch(ctx context.Context, r *Resolver, req schemas.Watch, to bus.Sender) error {
	labels, err := schemas.ParseLabels(req.Labels)
	if err != nil {
		return err // excluded by Validate
	}
	ctx, cancel := context.WithTimeoutCause(ctx, watchDuration, errWatchEnds)
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	go func() {
		select {
		case <-bus.Draining(ctx):
			end(errWatchEnds)
		case <-ctx.Done():
		}
	}()
	after, newest, err := watchStart(ctx, r, req.After)
	if err != nil {
		return err
	}
	if err := to.Send(schemas.EventWatching, schemas.Watching{Revision: r.token(after).String()}); err != nil {
		return err
	}
	s := scope.Scope(schemas.ValueOr(req.TenantID, ""))
	want := filter{any: true, labels: schemas.LabelTerms(labels)}
	err = r.deps.Catalog.Changes(ctx, req.Kind, s.Named(req.Scope), after, func(c catalog.Change) error {
		if !strings.HasPrefix(c.Key.ID, req.Prefix) {
			return nil
		}
		return sendChange(r, c, want, c.Replaces || c.Revision <= newest, to)
	})
	if errors.Is(context.Cause(ctx), errWatchEnds) {
		return nil
	}
	return err
}

// watchStart returns the revision after which a watch begins, and the newest one.
func watchStart(ctx context.Context, r *Resolver, after string) (from, newest uint64, err error) {
	invalid := func(problem string) error {
		return schemas.ErrMalformed.With(schemas.FieldError{Field: "after", Message: problem})
	}
	token, err := schemas.ParseConsistencyToken(after)
	if after != "" && err != nil {
		return 0, 0, invalid(err.Error()) // excluded by Validate
	}
	if after != "" && token.Catalog != "" && token.Catalog != r.deps.Catalog.ID() {
		return 0, 0, invalid("the revision belongs to another catalog; list the records, and watch without it")
	}
	err = bucket.WithReplyMargin(ctx, "catalog", func(ctx context.Context) (err error) {
		if newest, err = r.deps.Catalog.Revision(ctx); err == nil && token.Revision > newest {
			newest, err = r.deps.Catalog.Fence(ctx) // the leader that replied may have been deposed
		}
		return err
	})
	switch {
	case err != nil:
		return 0, 0, err
	case token.Revision > newest:
		return 0, 0, invalid(fmt.Sprintf("expected at most the newest revision, %d, got %d", newest, token.Revision))
	case after != "":
		return token.Revision, newest, nil
	}
	return newest, newest, nil
}

// sendChange sends the event of a change. If the record does not match the filter, it sends
// unmatched if known, because an earlier revision may have matched.
func sendChange(r *Resolver, c catalog.Change, want filter, matched bool, to bus.Sender) error {
	event := schemas.RecordChange{
		Revision: r.token(c.Revision).String(), Kind: c.Key.Kind, ID: c.Key.ID, TenantID: c.Key.Tenant,
		StoredAt: c.Stored.UTC().Format(time.RFC3339Nano),
	}
	if c.Removed {
		return to.Send(schemas.EventDeleted, event)
	}
	fields, err := schemas.DecodeStored[schemas.Metadata](c.Key.Kind, c.Record)
	if err != nil { // the record is quarantined
		return nil
	}
	if !want.matches(metadata("", fields)) {
		if !matched {
			return nil
		}
		return to.Send(schemas.EventUnmatched, event)
	}
	event.Version, event.Status, event.Labels = fields.Version, fields.Status, fields.Labels
	if c.Replaces {
		return to.Send(schemas.EventReplaced, event)
	}
	return to.Send(schemas.EventRegistered, event)
}
