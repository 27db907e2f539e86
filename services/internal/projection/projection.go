// Package projection makes the catalog searchable. Changes converts log entries to
// index changes; a Projector applies the log to a shared index, together with the
// projectors of all other register workers.
//
//	starting ──bind──► filling ──all applied, Promote──► live
//	    ▲                 │                               │
//	    └── generation changed or lost (checked every minute, and on error) ──┘
//
// All projectors of a generation read one durable JetStream consumer. A message is
// acknowledged when its change is in the index or quarantined; on failure it is
// redelivered, to any projector. Applying a change repeatedly is harmless: the index
// keeps the highest revision.
package projection

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"cairn/bus"
	"cairn/bus/telemetry"
	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/index"
)

const (
	// Retry intervals of a failing backend.
	firstRetry = 100 * time.Millisecond
	lastRetry  = 10 * time.Second
	// startTimeout bounds the wait of Open for the index.
	startTimeout = 5 * time.Second
	// generationInterval is the interval at which the generation is checked.
	generationInterval = time.Minute
	// lagInterval is the interval at which the lag is measured.
	lagInterval = 5 * time.Second
)

// Deps are the dependencies of a projector.
type Deps struct {
	Conn    *bus.Conn
	Catalog *catalog.Catalog
	Index   index.Migrator // closed by the caller, after the projector
	// AckWait is the time after which the changes of a killed worker are
	// redelivered; 0: 30 s.
	AckWait time.Duration
	Log     *slog.Logger
}

// Projector applies the log to an index, sharing the work with all other projectors
// of the index. It may be used concurrently.
type Projector struct {
	deps       Deps
	quarantine *quarantine
	progress   *progress

	stop        context.CancelFunc
	running     sync.WaitGroup
	unsubscribe func() // ends the subscription to other projectors

	mu      sync.Mutex
	binding *consumerBinding // nil until the index has responded
	queried time.Time        // when the consumer's state was queried last

	promoted string // generation promoted last; used by run only
}

// Open starts applying the log. It waits briefly for the index, which need not be
// reachable yet. The caller closes the projector.
func Open(ctx context.Context, deps Deps) (*Projector, error) {
	if deps.AckWait == 0 {
		deps.AckWait = ackWait
	}
	p := &Projector{deps: deps, progress: newProgress()}
	var err error
	if p.quarantine, err = openQuarantine(ctx, deps.Conn.JetStream()); err != nil {
		return nil, err
	}
	if p.unsubscribe, err = bus.Projected.Subscribe(deps.Conn, p.progress.receive); err != nil {
		p.quarantine.close()
		return nil, fmt.Errorf("subscribe to other projectors: %w", err)
	}
	running, stop := context.WithCancel(context.Background())
	p.stop = stop
	p.running.Go(func() { p.run(running) })
	p.running.Go(func() { p.measure(running) })
	waiting, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	p.progress.waitResponse(waiting)
	return p, nil
}

// Close stops the projector and waits for it. Changes not applied are left to other
// projectors, or to the next start.
func (p *Projector) Close() {
	p.stop()
	p.running.Wait()
	p.unsubscribe()
	p.quarantine.close()
}

// run applies the log until ctx ends. It rebinds when the consumer or the generation
// has changed.
func (p *Projector) run(ctx context.Context) {
	wait := newBackoff()
	for {
		began := time.Now()
		err := p.project(ctx)
		if ctx.Err() != nil {
			return
		}
		p.deps.Log.Info("restarting the projection", "reason", err)
		if time.Since(began) > lastRetry {
			wait.Reset()
		}
		select {
		case <-time.After(wait.NextBackOff()):
		case <-ctx.Done():
			return
		}
	}
}

// measure records the lag of the index periodically until ctx ends.
func (p *Projector) measure(ctx context.Context) {
	tick := time.NewTicker(lagInterval)
	defer tick.Stop()
	for {
		if lag := p.lag(ctx); lag != nil {
			telemetry.IndexLag.WithLabelValues("shared").Set(float64(*lag))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// project applies the log to the current generation.
func (p *Projector) project(ctx context.Context) error {
	t, err := retry(ctx, p, "open the index", func() (*consumerBinding, error) { return p.bind(ctx) })
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	w := newWork()
	group.Go(func() error {
		for {
			if err := w.wait(ctx); err != nil {
				return err
			}
			messages, err := p.collect(ctx, t, w)
			if err != nil {
				return err
			}
			group.Go(func() error {
				defer w.end()
				return p.applyMessages(ctx, t.generation, messages)
			})
		}
	})
	return group.Wait()
}

// collect returns the next batch; none after idlePoll.
func (p *Projector) collect(ctx context.Context, t *consumerBinding, w work) ([]jetstream.Msg, error) {
	if err := p.checkGeneration(ctx, t); err != nil {
		return nil, err
	}
	messages, err := t.available(t.batchSize())
	if err == nil && len(messages) == 0 {
		if err = p.promoteIfDrained(ctx, t); err == nil {
			messages, err = t.next(ctx)
		}
	}
	if err != nil || len(messages) == 0 {
		return nil, err
	}
	messages = t.extend(ctx, messages, w, time.Now().Add(p.deps.AckWait/3))
	t.size = size(messages)
	return messages, nil
}

// checkGeneration checks periodically that the generation is still the one written to.
func (p *Projector) checkGeneration(ctx context.Context, t *consumerBinding) error {
	if time.Since(t.checked) < generationInterval {
		return nil
	}
	t.checked = time.Now()
	name, err := p.deps.Index.Generation(ctx)
	if err != nil {
		return ctx.Err() // applying reports it
	}
	if name != t.generation {
		return fmt.Errorf("%w: generation %s", index.ErrLost, t.generation)
	}
	if status, err := p.deps.Index.Status(ctx); err == nil {
		p.progress.setGeneration(t.generation, status.Live == status.Fingerprint)
	}
	return ctx.Err()
}

// retry retries until try succeeds, ctx ends, or the index is lost. Meanwhile the progress is blocked,
// so that no registration waits for it.
func retry[T any](ctx context.Context, p *Projector, operation string, try func() (T, error)) (T, error) {
	done, err := backoff.Retry(ctx, func() (T, error) {
		done, err := try()
		if errors.Is(err, index.ErrLost) {
			err = backoff.Permanent(err)
		}
		return done, err
	}, backoff.WithBackOff(newBackoff()), backoff.WithMaxElapsedTime(0),
		backoff.WithNotify(func(err error, _ time.Duration) {
			if ctx.Err() == nil && p.progress.setBlocked(err) {
				p.deps.Log.Warn("the index lags behind", "operation", operation, "err", err)
			}
		}))
	if err == nil {
		p.unblock()
	}
	return done, err
}

// unblock records that the index accepts changes.
func (p *Projector) unblock() {
	if p.progress.setBlocked(nil) {
		p.deps.Log.Info("the index accepts changes again")
	}
}

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

// apply applies the changes, quarantines the rejected ones, and returns their reasons
// by revision.
func (p *Projector) apply(ctx context.Context, changes []catalog.Change) (map[uint64]string, error) {
	reasons := map[uint64]string{}
	if documents := Changes(changes); len(documents) > 0 {
		err := p.deps.Index.Apply(ctx, documents)
		rejected, ok := errors.AsType[*index.Rejected](err)
		if err != nil && !ok {
			return nil, err
		}
		if ok {
			for _, r := range rejected.Changes {
				reasons[r.Revision] = r.Reason
			}
		}
	}
	for _, c := range changes {
		reason, bad := reasons[c.Revision]
		if err := p.updateQuarantine(ctx, c, reason, bad); err != nil {
			return nil, fmt.Errorf("quarantine %s: %w", c.Key, err)
		}
	}
	return reasons, nil
}

// updateQuarantine updates the quarantine after a change.
func (p *Projector) updateQuarantine(ctx context.Context, c catalog.Change, reason string, bad bool) error {
	if !bad {
		return p.quarantine.release(ctx, c.Key.String(), c.Revision)
	}
	p.deps.Log.Warn("record quarantined: the index rejected it; correct it and register it again", "key", c.Key,
		"revision", c.Revision, "reason", reason)
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

// bind opens the current generation and its consumer.
func (p *Projector) bind(ctx context.Context) (*consumerBinding, error) {
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
	t := &consumerBinding{
		generation: name,
		consumer:   consumer,
		live:       status.Live == status.Fingerprint,
		promoted:   p.promoted == name,
		checked:    time.Now(),
		size:       largeRecord,
	}
	p.mu.Lock()
	p.binding = t
	p.mu.Unlock()
	// An empty backlog is promoted before the generation is announced as filling.
	if err := p.promoteIfDrained(ctx, t); err != nil {
		return nil, err
	}
	p.progress.setGeneration(name, t.live)
	return t, nil
}

// consumer opens the generation's consumer; a new one starts at the first record.
func (p *Projector) consumer(ctx context.Context, generation string) (jetstream.Consumer, error) {
	c, err := p.deps.Conn.JetStream().CreateOrUpdateConsumer(ctx, catalog.Stream, jetstream.ConsumerConfig{
		Durable:           durable(generation),
		Description:       "changes not applied to the index",
		DeliverPolicy:     jetstream.DeliverAllPolicy, // the stream has one message per record
		AckPolicy:         jetstream.AckExplicitPolicy,
		AckWait:           p.deps.AckWait,
		MaxAckPending:     maxPending,
		InactiveThreshold: inactiveThreshold,
	})
	if err != nil {
		return nil, fmt.Errorf("open consumer %s: %w", durable(generation), err)
	}
	return c, nil
}

// promoteIfDrained promotes the generation when all workers have applied all changes. A
// projector promotes once: two with different models would alternate.
func (p *Projector) promoteIfDrained(ctx context.Context, t *consumerBinding) error {
	info, err := t.consumer.Info(ctx)
	if err != nil {
		return fmt.Errorf("query consumer %s: %w", durable(t.generation), err)
	}
	p.progress.advance(t.generation, appliedRevision(info))
	if t.promoted || info.NumPending > 0 || info.NumAckPending > 0 {
		return nil
	}
	err = p.deps.Index.Promote(ctx)
	if err == nil {
		t.promoted, t.live, p.promoted = true, true, t.generation
		p.progress.setGeneration(t.generation, t.live)
		p.unblock() // otherwise only an applied change does
	}
	if errors.Is(err, index.ErrLost) {
		return err
	}
	if err != nil && ctx.Err() == nil && p.progress.setBlocked(err) {
		p.deps.Log.Warn("the index is not live yet", "generation", t.generation, "err", err)
	}
	return nil
}

// Reindex starts a new generation, which all projectors fill together and which then
// replaces the live one.
func (p *Projector) Reindex(ctx context.Context) (schemas.Reindexed, error) {
	t := p.currentBinding()
	if t == nil {
		return schemas.Reindexed{}, schemas.ErrUnavailable.Because("the index has not responded yet")
	}
	name, err := p.deps.Index.NewGeneration(ctx)
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
	if name != t.generation { // a projector that still reads it rebinds
		err := p.deps.Conn.JetStream().DeleteConsumer(ctx, catalog.Stream, durable(t.generation))
		if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
			return schemas.Reindexed{}, fmt.Errorf("delete consumer %s: %w", durable(t.generation), err)
		}
	}
	info := consumer.CachedInfo() // other projectors may have started
	return schemas.Reindexed{Generation: name, Records: info.Delivered.Consumer + info.NumPending}, nil
}

func (p *Projector) currentBinding() *consumerBinding {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.binding
}

// WaitVisible waits until searches include the revision of the catalog, or ctx ends. It returns an
// error immediately if the projection is blocked, the generation is not live, or applying the
// revision has failed.
func (p *Projector) WaitVisible(ctx context.Context, revision uint64) error {
	tick := time.NewTicker(queryInterval)
	defer tick.Stop()
	for {
		open, err := p.progress.status(revision)
		if open == nil {
			return err
		}
		select {
		case <-open:
		case <-tick.C:
			// A superseded revision is neither applied nor announced, and announcements
			// are not repeated: the consumer's state covers both.
			p.queryProgress(ctx)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// queryProgress queries the progress of all projectors, at most every queryInterval.
func (p *Projector) queryProgress(ctx context.Context) {
	p.mu.Lock()
	t, due := p.binding, time.Since(p.queried) >= queryInterval
	if due {
		p.queried = time.Now()
	}
	p.mu.Unlock()
	if t == nil || !due {
		return
	}
	if info, err := t.consumer.Info(ctx); err == nil {
		p.progress.advance(t.generation, appliedRevision(info))
	}
}

// Status returns the state of the index and one sentence per problem.
func (p *Projector) Status(ctx context.Context) (*schemas.IndexStatus, []string) {
	lag := p.lag(ctx) // first, because an unresponsive index uses up the deadline
	s, problems := Status(ctx, p.deps.Index)
	s.Lag = lag
	if err := p.progress.problem(); err != nil && len(problems) == 0 {
		problems = []string{err.Error()}
	}
	for i, sentence := range problems {
		problems[i] = "indexing is delayed: " + sentence
	}
	if s.Quarantined, s.QuarantinedRecords = p.quarantine.list(maxListed); s.Quarantined > 0 {
		var keys []string
		for _, r := range s.QuarantinedRecords {
			keys = append(keys, r.Key)
		}
		problems = append(problems,
			fmt.Sprintf("the index rejected %d records, such as %s", s.Quarantined, strings.Join(keys, ", ")))
	}
	return s, problems
}

// lag returns the number of unapplied changes; nil: unknown.
func (p *Projector) lag(ctx context.Context) *uint64 {
	t := p.currentBinding()
	if t == nil {
		return nil
	}
	consumer, err := p.deps.Conn.JetStream().Consumer(ctx, catalog.Stream, durable(t.generation))
	if err != nil {
		return nil
	}
	info := consumer.CachedInfo()
	return new(info.NumPending + uint64(info.NumAckPending))
}

func newBackoff() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff() // jittered
	b.InitialInterval, b.MaxInterval = firstRetry, lastRetry
	return b
}

const (
	// queryInterval is the shortest interval between queries of the consumer's state.
	queryInterval = 100 * time.Millisecond
	// maxListed is the number of quarantined records that Status lists.
	maxListed = 10
)

// Status returns the state of an index as its server reports it, and its problems.
func Status(ctx context.Context, m index.Migrator) (*schemas.IndexStatus, []string) {
	var s index.Status
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return m.Check(ctx) })
	both.Go(func() (err error) {
		s, err = m.Status(ctx)
		return err
	})
	if err := both.Wait(); err != nil {
		return &schemas.IndexStatus{}, []string{err.Error()}
	}
	return &schemas.IndexStatus{Fingerprint: s.Fingerprint, Live: s.Live, Documents: s.Documents}, nil
}
