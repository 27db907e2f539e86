package projection

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/index"
)

const (
	ackWait = 30 * time.Second
	// maxCount and maxBytes bound what is applied at once. Bytes are reckoned
	// by the records before.
	maxCount = 256
	maxBytes = 8 << 20
	// largeRecord is what a record may be, in bytes, before the first was read.
	largeRecord = 1 << 20
	// maxPending is full batches of 32 workers.
	maxPending = 32 * maxCount
	// unused is how long a consumer stays that no worker reads: whoever comes
	// back later than that fills his index from the beginning.
	unused = 7 * 24 * time.Hour
	// idle is how long a worker waits for changes before it looks around;
	// filling is the same while a generation is not live yet.
	idle    = 5 * time.Second
	filling = 100 * time.Millisecond
	// lookAgain is how often a group that is not full looks for more.
	lookAgain = 5 * time.Millisecond
)

// target is what a projector writes to, and the consumer that all projectors
// of it read.
type target struct {
	generation string
	consumer   jetstream.Consumer
	live       bool      // searches read it, when that was last asked
	promoted   bool      // by this projector, which does so once
	looked     time.Time // when the index was asked for its generation
	size       int       // of a record, in bytes, as the last ones were; at first as of large ones
}

// bind finds the generation to write to and its consumer.
func (p *Projector) bind(ctx context.Context) (*target, error) {
	name, err := p.deps.Index.Generation(ctx)
	if err != nil {
		return nil, err
	}
	status, err := p.deps.Index.Status(ctx)
	if err != nil {
		return nil, err
	}
	consumer, err := p.consumer(ctx, name)
	if err != nil {
		return nil, err
	}
	t := &target{
		generation: name,
		consumer:   consumer,
		live:       status.Live == status.Fingerprint,
		promoted:   p.promoted == name,
		looked:     time.Now(),
		size:       largeRecord,
	}
	p.mu.Lock()
	p.target = t
	p.mu.Unlock()
	// Where nothing is to be applied, the start does not say that something is.
	if err := p.drained(ctx, t); err != nil {
		return nil, err
	}
	p.seen.aim(name, t.live)
	return t, nil
}

func durable(generation string) string { return "index-" + generation }

// consumer is the one of a generation; a new one begins with the first record.
func (p *Projector) consumer(ctx context.Context, generation string) (jetstream.Consumer, error) {
	c, err := p.deps.Conn.JetStream().CreateOrUpdateConsumer(ctx, catalog.Stream, jetstream.ConsumerConfig{
		Durable:           durable(generation),
		Description:       "what the index has not got yet",
		DeliverPolicy:     jetstream.DeliverAllPolicy, // the stream has one message of each record
		AckPolicy:         jetstream.AckExplicitPolicy,
		AckWait:           p.deps.AckWait,
		MaxAckPending:     maxPending,
		InactiveThreshold: unused,
	})
	if err != nil {
		return nil, fmt.Errorf("open consumer %s: %w", durable(generation), err)
	}
	return c, nil
}

// room is how many messages to ask for.
func (t *target) room() int { return max(1, min(maxCount, maxBytes/max(t.size, 1))) }

// available is up to most of what can be applied now, without waiting.
func (t *target) available(most int) ([]jetstream.Msg, error) {
	return collect(t.consumer.FetchNoWait(most))
}

// next waits a while for something to apply.
func (t *target) next(ctx context.Context) ([]jetstream.Msg, error) {
	patience := filling
	if t.promoted {
		patience = idle
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	first, err := collect(t.consumer.Fetch(1, jetstream.FetchContext(waiting)))
	if err != nil && waiting.Err() != nil {
		err = ctx.Err()
	}
	if err != nil || len(first) == 0 {
		return first, err
	}
	more, err := t.available(t.room() - 1)
	if err != nil {
		return first, nil // asked again soon
	}
	return append(first, more...), nil
}

// fill adds to the group what comes until it is full, or none other is at
// work: an index takes many changes in little more time than one. It ends
// before the server would have others apply what waits here.
func (t *target) fill(ctx context.Context, group []jetstream.Msg, w work, end time.Time) []jetstream.Msg {
	for w.busy() && len(group) < t.room() && time.Now().Before(end) {
		select {
		case <-w.ended:
		case <-time.After(lookAgain):
		case <-ctx.Done():
			return group
		}
		more, err := t.available(t.room() - len(group))
		if err != nil {
			return group // asked again soon
		}
		group = append(group, more...)
	}
	return group
}

func collect(batch jetstream.MessageBatch, err error) ([]jetstream.Msg, error) {
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	var all []jetstream.Msg
	for m := range batch.Messages() {
		all = append(all, m)
	}
	if err := batch.Error(); err != nil && len(all) == 0 {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	return all, nil
}

// drained promotes the generation when nothing is left to be applied by any
// worker. A projector does so once: two with different models would take turns.
func (p *Projector) drained(ctx context.Context, t *target) error {
	info, err := t.consumer.Info(ctx)
	if err != nil {
		return fmt.Errorf("ask consumer %s: %w", durable(t.generation), err)
	}
	p.seen.reach(t.generation, reached(info))
	if t.promoted || info.NumPending > 0 || info.NumAckPending > 0 {
		return nil
	}
	err = p.deps.Index.Promote(ctx)
	if err == nil {
		t.promoted, t.live, p.promoted = true, true, t.generation
		p.seen.aim(t.generation, t.live)
	}
	if errors.Is(err, index.ErrLost) {
		return err
	}
	if err != nil && ctx.Err() == nil && p.seen.stick(err) {
		p.deps.Log.Warn("the index is not live yet", "generation", t.generation, "err", err)
	}
	return nil
}

// reached is the revision up to which all of the log was applied.
func reached(info *jetstream.ConsumerInfo) uint64 {
	if info.NumPending == 0 && info.NumAckPending == 0 {
		return info.Delivered.Stream
	}
	return info.AckFloor.Stream
}

// Reindex has a new generation filled by all projectors together, and then
// searched. Searches read the old one meanwhile.
func (p *Projector) Reindex(ctx context.Context) (schemas.Reindexed, error) {
	t := p.aimed()
	if t == nil {
		return schemas.Reindexed{}, schemas.ErrUnavailable.Because("the index has not answered yet")
	}
	name, err := p.deps.Index.Renew(ctx)
	if errors.Is(err, index.ErrUnavailable) {
		return schemas.Reindexed{}, schemas.ErrUnavailable.Because(err.Error())
	}
	if err != nil {
		return schemas.Reindexed{}, err
	}
	consumer, err := p.consumer(ctx, name)
	if err != nil {
		return schemas.Reindexed{}, err
	}
	if name != t.generation { // who reads the old one finds out what is to be read
		err := p.deps.Conn.JetStream().DeleteConsumer(ctx, catalog.Stream, durable(t.generation))
		if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
			return schemas.Reindexed{}, fmt.Errorf("delete consumer %s: %w", durable(t.generation), err)
		}
	}
	info := consumer.CachedInfo() // others may have begun already
	return schemas.Reindexed{Generation: name, Records: info.Delivered.Consumer + info.NumPending}, nil
}

func (p *Projector) aimed() *target {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.target
}
