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
	w := watcher{
		Resolver: r, prefix: req.Prefix, want: filter{any: true, labels: schemas.LabelTerms(labels)}, newest: newest, to: to,
	}
	selected := catalog.Selection{Kind: req.Kind, Tenants: s.Named(req.Scope), After: after}
	err = r.deps.Catalog.Changes(ctx, selected, w.send)
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

// watcher sends the changes of a watch.
type watcher struct {
	*Resolver
	prefix string // of the ids
	want   filter
	newest uint64 // revision of the catalog when the watch began
	to     bus.Sender
}

// send sends the event of a change. A record that does not match the filter is sent as unmatched if an earlier
// revision may have matched.
func (w watcher) send(c catalog.Change) error {
	if !strings.HasPrefix(c.Key.ID, w.prefix) {
		return nil
	}
	event := schemas.RecordChange{
		Revision: w.token(c.Revision).String(), Kind: c.Key.Kind, ID: c.Key.ID, TenantID: c.Key.Tenant,
		StoredAt: c.Stored.UTC().Format(time.RFC3339Nano), Author: c.Origin().Author,
	}
	if c.Removed {
		return w.to.Send(schemas.EventDeleted, event)
	}
	fields, err := schemas.DecodeStored[schemas.Metadata](c.Key.Kind, c.Record)
	if err != nil { // the record is quarantined
		return nil
	}
	if !w.want.matches(metadata("", fields)) {
		if !c.Replaces && c.Revision > w.newest {
			return nil
		}
		return w.to.Send(schemas.EventUnmatched, event)
	}
	event.Version, event.Status, event.Labels = fields.Version, fields.Status, fields.Labels
	if c.Replaces {
		return w.to.Send(schemas.EventReplaced, event)
	}
	return w.to.Send(schemas.EventRegistered, event)
}
