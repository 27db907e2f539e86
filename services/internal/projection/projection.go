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
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"cairn/bus"
	"cairn/bus/telemetry"
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
	p.progress.awaitResponse(waiting)
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
			telemetry.IndexLag("shared", *lag)
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
			if err := w.begin(ctx); err != nil {
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
		messages, err = p.wait(ctx, t)
	}
	if err != nil || len(messages) == 0 {
		return nil, err
	}
	messages = t.extend(ctx, messages, w, time.Now().Add(p.deps.AckWait/3))
	t.size = size(messages)
	return messages, nil
}

// wait waits for a batch, up to idlePoll.
func (p *Projector) wait(ctx context.Context, t *consumerBinding) ([]jetstream.Msg, error) {
	if err := p.promoteIfDrained(ctx, t); err != nil {
		return nil, err
	}
	return t.next(ctx)
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

// retry retries until success, the end of ctx, or the loss of the index. Meanwhile
// the progress is marked as blocked, so that nothing waits for it.
func retry[T any](ctx context.Context, p *Projector, what string, try func() (T, error)) (T, error) {
	done, err := backoff.Retry(ctx, func() (T, error) {
		done, err := try()
		if errors.Is(err, index.ErrLost) {
			err = backoff.Permanent(err)
		}
		return done, err
	}, backoff.WithBackOff(newBackoff()), backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(err error, _ time.Duration) {
		if ctx.Err() == nil && p.progress.setBlocked(err) {
			p.deps.Log.Warn("the index lags behind", "operation", what, "err", err)
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

func newBackoff() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff() // jittered
	b.InitialInterval, b.MaxInterval = firstRetry, lastRetry
	return b
}
