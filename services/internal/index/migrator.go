package index

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Migrator is an Index whose documents outlive the process, on a server that
// other processes use as well. Apply writes the documents of one generation,
// Search reads those of the one that is live. The two differ after a change of
// the model: a new generation is filled from the log while the old one answers
// by its words, then it is promoted. What is applied meanwhile is found once it
// is.
//
//	name, err := m.Generation(ctx)  // at start, now and then, and after ErrLost
//	consumer := durable("index-" + name) // a new one begins with the first record
//	for each batch { m.Apply(ctx, batch) }
//	when nothing is pending for the first time { m.Promote(ctx) }
type Migrator interface {
	Index
	// Generation names what Apply writes to, and makes it when it is missing.
	// It is not searched before it was promoted. Another name means that none of
	// the log is in there: the model, the mapping or the catalog is another, or
	// the server lost it. It has letters, digits and dashes.
	Generation(ctx context.Context) (string, error)
	// Renew begins a generation that takes the place of the live one, although
	// nothing about it is wrong, and names it. While one is being filled, it is
	// that one.
	Renew(ctx context.Context) (string, error)
	// Promote makes the generation that Apply writes to the live one, for all
	// kinds at once, when it is not yet. Call it once a generation, when all of
	// the log was applied: two workers with different settings that went on
	// calling it would take turns. The one it replaces is kept, older ones are
	// deleted.
	Promote(ctx context.Context) error
	// Status tells what is live and how much there is.
	Status(ctx context.Context) (Status, error)
	// Check reports why the index cannot be used now, or nil.
	Check(ctx context.Context) error
}

// Status is what a Migrator knows of its documents.
type Status struct {
	Fingerprint string         // of the newest generation; empty while a model has not told its dimensions
	Live        string         // of the one that Search reads; empty: there is none
	Documents   map[string]int // that can be found, by kind
}

// ErrUnavailable says that the server of an index does not answer now, or has
// no room now. What was tried may be tried again, later.
var ErrUnavailable = errors.New("index unavailable")

// ErrLost says that documents applied before are gone from the server. Apply
// goes on after Migrator.Generation was called, which names what to fill.
var ErrLost = errors.New("documents of the index are lost")

// Refused is the error of Apply when the index will never take some of the
// changes. It has taken all others.
type Refused struct {
	Changes []RefusedChange
}

// RefusedChange is a change that was not applied, and why.
type RefusedChange struct {
	Change
	Reason string
}

func (r *Refused) Error() string {
	var all []string
	for _, c := range r.Changes {
		all = append(all, fmt.Sprintf("%s %q: %s", c.Kind, c.ID, c.Reason))
	}
	return fmt.Sprintf("%d documents refused: %s", len(all), strings.Join(all, "; "))
}

// add notes that a change was refused.
func (r *Refused) add(c Change, reason string) {
	r.Changes = append(r.Changes, RefusedChange{c, reason})
}
