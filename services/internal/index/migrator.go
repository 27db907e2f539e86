package index

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Migrator is an Index on a server that other processes share. Apply also accepts changes in
// another order, and repeatedly: the highest revision of a document wins. It writes the
// newest generation; Search reads the live one. They differ after a change of the
// model: the new generation is filled from the log while the old one is searched
// by words, then it is promoted.
//
//	name, err := m.Generation(ctx)  // at start, periodically, and after ErrLost
//	consumer := durable(name) // a new one begins with the first record
//	for each batch { m.Apply(ctx, batch) }
//	when nothing is pending for the first time { m.Promote(ctx) }
type Migrator interface {
	Index
	// Generation returns the name of the generation that Apply writes to and
	// creates it when missing. It is not searched until promoted. A changed name
	// means that the generation is empty: model, mapping or catalog changed, or the
	// server lost it. The name consists of letters, digits and dashes.
	Generation(ctx context.Context) (string, error)
	// NewGeneration starts a generation that replaces an intact live one, and returns its
	// name. While a generation is being filled, it returns that one.
	NewGeneration(ctx context.Context) (string, error)
	// Promote makes the generation that Apply writes to live, for all kinds
	// atomically. Call it once per generation, after the whole log was applied: repeated
	// calls of workers with different settings would alternate. The replaced generation is
	// kept, older ones are deleted.
	Promote(ctx context.Context) error
	// Status returns the live generation and its size.
	Status(ctx context.Context) (Status, error)
	// Check returns why the index is unavailable, or nil.
	Check(ctx context.Context) error
}

// Status is the state of a Migrator.
type Status struct {
	Fingerprint string         // of the newest generation; empty until the model's dimensions are known
	Live        string         // the generation that Search reads; empty: none
	Documents   map[string]int // searchable documents, by kind
}

// ErrUnavailable is a transient failure of an index server: unreachable, overloaded
// or out of space.
var ErrUnavailable = errors.New("index unavailable")

// ErrLost is returned when the server no longer has documents applied earlier. Call
// Migrator.Generation for the generation to fill, then continue.
var ErrLost = errors.New("documents of the index are lost")

// Rejected is returned by Apply for changes that the index rejects permanently. All
// other changes were applied.
type Rejected struct {
	Changes []RejectedChange
}

// RejectedChange is a rejected change with the reason.
type RejectedChange struct {
	Change
	Reason string
}

func (r *Rejected) Error() string {
	var all []string
	for _, c := range r.Changes {
		all = append(all, fmt.Sprintf("%s %q: %s", c.Kind, c.ID, c.Reason))
	}
	return fmt.Sprintf("%d documents rejected: %s", len(all), strings.Join(all, "; "))
}

// add records a rejected change.
func (r *Rejected) add(c Change, reason string) {
	r.Changes = append(r.Changes, RejectedChange{c, reason})
}
