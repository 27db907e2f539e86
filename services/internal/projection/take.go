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

// take applies messages as one batch, however long that takes, and
// acknowledges them. What the index never takes is set aside. On an error none
// are acknowledged: they come again, here or elsewhere.
func (p *Projector) take(ctx context.Context, generation string, messages []jetstream.Msg) error {
	if len(messages) == 0 {
		return nil
	}
	changes := read(messages)
	release := keep(messages, p.deps.AckWait/3)
	told := false
	refused, err := persist(ctx, p, "apply changes", func() (map[uint64]string, error) {
		refused, err := p.apply(ctx, changes)
		if err != nil && !told && ctx.Err() == nil {
			told = true
			p.tell(schemas.Projected{Generation: generation, Failed: revisions(changes, nil, false)})
		}
		return refused, err
	})
	release()
	if err != nil {
		giveBack(messages)
		return err
	}
	p.tell(schemas.Projected{
		Generation: generation,
		Revisions:  revisions(changes, refused, false),
		Failed:     revisions(changes, refused, true),
	})
	for _, m := range messages {
		_ = m.Ack() // one that is lost comes again, which is harmless
	}
	return nil
}

// read is what the messages tell of. Those that tell of no record have only a
// revision.
func read(messages []jetstream.Msg) []catalog.Change {
	var changes []catalog.Change
	for _, m := range messages {
		if c, err := catalog.ReadChange(m); err == nil || errors.Is(err, catalog.ErrBadKey) {
			changes = append(changes, c)
		}
	}
	return changes
}

// size is the mean size of the messages.
func size(messages []jetstream.Msg) int {
	sum := 0
	for _, m := range messages {
		sum += len(m.Data())
	}
	return sum / len(messages)
}

// revisions are those of the changes that were refused, or of all others.
func revisions(changes []catalog.Change, refused map[uint64]string, wanted bool) (list []uint64) {
	for _, c := range changes {
		if _, ok := refused[c.Revision]; ok == wanted {
			list = append(list, c.Revision)
		}
	}
	return list
}

// keep tells the server every so often that the messages are at work, until
// release is called.
func keep(messages []jetstream.Msg, every time.Duration) (release func()) {
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
				_ = m.InProgress() // one that is lost is made up for by the next
			}
		}
	})
	return func() {
		close(done)
		working.Wait()
	}
}

// giveBack lets another worker have the messages, in a moment: at once they
// might come to what this one has asked for last, and reads no more.
func giveBack(messages []jetstream.Msg) {
	for _, m := range messages {
		_ = m.NakWithDelay(firstRetry) // one that is lost comes again later
	}
}

// apply applies the changes and answers with the reasons for those that the
// index never takes, by revision, which it has set aside.
func (p *Projector) apply(ctx context.Context, changes []catalog.Change) (map[uint64]string, error) {
	refused, err := p.put(ctx, Changes(changes))
	if err != nil {
		return nil, err
	}
	reasons := map[uint64]string{}
	for _, r := range refused {
		reasons[r.Revision] = r.Reason
	}
	for _, c := range changes {
		reason, bad := reasons[c.Revision]
		if err := p.settle(ctx, c, reason, bad); err != nil {
			return nil, fmt.Errorf("set aside %s: %w", c.Key, err)
		}
	}
	return reasons, nil
}

// put applies documents. Where the embedder refuses a text, halves find which.
func (p *Projector) put(ctx context.Context, documents []index.Change) ([]index.RefusedChange, error) {
	if len(documents) == 0 {
		return nil, nil
	}
	err := p.deps.Index.Apply(ctx, documents)
	var some *index.Refused
	switch {
	case errors.As(err, &some):
		return some.Changes, nil
	case !errors.Is(err, embed.ErrRefused):
		return nil, err
	case len(documents) == 1:
		return []index.RefusedChange{{Change: documents[0], Reason: err.Error()}}, nil
	}
	half := len(documents) / 2
	first, err := p.put(ctx, documents[:half])
	if err != nil {
		return nil, err
	}
	second, err := p.put(ctx, documents[half:])
	return append(first, second...), err
}

// settle notes what became of a change.
func (p *Projector) settle(ctx context.Context, c catalog.Change, reason string, bad bool) error {
	if !bad {
		return p.aside.forget(ctx, c.Key.String(), c.Revision)
	}
	p.deps.Log.Warn("the index refuses a record, which is set aside", "key", c.Key, "revision", c.Revision, "reason", reason)
	err := p.aside.put(ctx, schemas.AsideRecord{
		Key: c.Key.String(), Reason: reason, Revision: c.Revision, At: time.Now().UTC().Format(time.RFC3339),
	})
	if err != nil {
		return err
	}
	// A newer revision may have been applied by someone who did not know yet.
	newest, err := p.deps.Catalog.Get(ctx, c.Key)
	if errors.Is(err, catalog.ErrNotFound) && !c.Removed || err == nil && newest.Revision > c.Revision {
		return p.aside.forget(ctx, c.Key.String(), c.Revision)
	}
	if errors.Is(err, catalog.ErrNotFound) {
		return nil
	}
	return err
}

// tell says what has come of revisions, here and to all other workers.
func (p *Projector) tell(news schemas.Projected) {
	p.seen.hear(news)
	_ = bus.Projected.Publish(p.deps.Conn, news) // who does not hear it asks the consumer
}
