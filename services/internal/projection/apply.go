package projection

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus"
	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/embed"
	"cairn/services/internal/index"
)

// applyMessages applies messages as one batch, retrying as long as needed, and acknowledges
// them. Rejected records are quarantined. On an error no message is acknowledged,
// and all are redelivered.
func (p *Projector) applyMessages(ctx context.Context, generation string, messages []jetstream.Msg) error {
	if len(messages) == 0 {
		return nil
	}
	changes := read(messages)
	release := extendAckWait(messages, p.deps.AckWait/3)
	announced := false
	rejected, err := retry(ctx, p, "apply changes", func() (map[uint64]string, error) {
		rejected, err := p.apply(ctx, changes)
		if err != nil && !announced && ctx.Err() == nil {
			announced = true
			p.announce(schemas.Projected{Generation: generation, Failed: revisions(changes, nil, false)})
		}
		return rejected, err
	})
	release()
	if err != nil {
		requeue(messages)
		return err
	}
	p.announce(schemas.Projected{
		Generation: generation,
		Revisions:  revisions(changes, rejected, false),
		Failed:     revisions(changes, rejected, true),
	})
	for _, m := range messages {
		_ = m.Ack() // a lost ack causes a harmless redelivery
	}
	return nil
}

// read decodes the messages. A message that is not a record yields a revision only.
func read(messages []jetstream.Msg) []catalog.Change {
	var changes []catalog.Change
	for _, m := range messages {
		if c, err := catalog.ReadChange(m); err == nil || errors.Is(err, catalog.ErrBadKey) {
			changes = append(changes, c)
		}
	}
	return changes
}

// size returns the mean size of the messages.
func size(messages []jetstream.Msg) int {
	sum := 0
	for _, m := range messages {
		sum += len(m.Data())
	}
	return sum / len(messages)
}

// revisions returns the revisions of the rejected changes, or of all others.
func revisions(changes []catalog.Change, rejected map[uint64]string, wanted bool) (list []uint64) {
	for _, c := range changes {
		if _, ok := rejected[c.Revision]; ok == wanted {
			list = append(list, c.Revision)
		}
	}
	return list
}

// extendAckWait extends the ack deadline of the messages until release is called.
func extendAckWait(messages []jetstream.Msg, every time.Duration) (release func()) {
	done := make(chan struct{})
	var working sync.WaitGroup
	working.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			for _, m := range messages {
				_ = m.InProgress() // a lost message is followed by the next
			}
		}
	})
	return func() {
		close(done)
		working.Wait()
	}
}

// requeue requeues the messages after a delay: at once they could be delivered to
// a pull request of this worker that it no longer reads.
func requeue(messages []jetstream.Msg) {
	for _, m := range messages {
		_ = m.NakWithDelay(firstRetry) // a lost message is redelivered after AckWait
	}
}

// apply applies the changes, quarantines the rejected ones, and returns their reasons
// by revision.
func (p *Projector) apply(ctx context.Context, changes []catalog.Change) (map[uint64]string, error) {
	rejected, err := p.applyDocuments(ctx, Changes(changes))
	if err != nil {
		return nil, err
	}
	reasons := map[uint64]string{}
	for _, r := range rejected {
		reasons[r.Revision] = r.Reason
	}
	for _, c := range changes {
		reason, bad := reasons[c.Revision]
		if err := p.updateQuarantine(ctx, c, reason, bad); err != nil {
			return nil, fmt.Errorf("quarantine %s: %w", c.Key, err)
		}
	}
	return reasons, nil
}

// applyDocuments applies documents, and bisects a batch in which the embedder rejects a text.
func (p *Projector) applyDocuments(ctx context.Context, documents []index.Change) ([]index.RejectedChange, error) {
	if len(documents) == 0 {
		return nil, nil
	}
	err := p.deps.Index.Apply(ctx, documents)
	var some *index.Rejected
	switch {
	case errors.As(err, &some):
		return some.Changes, nil
	case !errors.Is(err, embed.ErrRejected):
		return nil, err
	case len(documents) == 1:
		return []index.RejectedChange{{Change: documents[0], Reason: err.Error()}}, nil
	}
	half := len(documents) / 2
	first, err := p.applyDocuments(ctx, documents[:half])
	if err != nil {
		return nil, err
	}
	second, err := p.applyDocuments(ctx, documents[half:])
	return append(first, second...), err
}

// updateQuarantine updates the quarantine after a change.
func (p *Projector) updateQuarantine(ctx context.Context, c catalog.Change, reason string, bad bool) error {
	if !bad {
		return p.quarantine.release(ctx, c.Key.String(), c.Revision)
	}
	p.deps.Log.Warn("record quarantined: the index rejected it; correct it and register it again", "key", c.Key, "revision", c.Revision, "reason", reason)
	err := p.quarantine.put(ctx, schemas.QuarantinedRecord{
		Key: c.Key.String(), Reason: reason, Revision: c.Revision, At: time.Now().UTC().Format(time.RFC3339),
	})
	if err != nil {
		return err
	}
	// A projector that had not received the quarantine entry may have applied a newer revision.
	newest, err := p.deps.Catalog.Get(ctx, c.Key)
	if errors.Is(err, catalog.ErrNotFound) && !c.Removed || err == nil && newest.Revision > c.Revision {
		return p.quarantine.release(ctx, c.Key.String(), c.Revision)
	}
	if errors.Is(err, catalog.ErrNotFound) {
		return nil
	}
	return err
}

// announce publishes the outcome of revisions, here and to all other workers.
func (p *Projector) announce(update schemas.Projected) {
	p.progress.receive(update)
	_ = bus.Projected.Publish(p.deps.Conn, update) // a lost announcement is covered by querying the consumer
}
