// Package projection makes the catalog searchable. Changes tells an index what
// the log means to it; a Projector brings the log into an index that outlives
// the process, together with those of all other registration workers.
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
	"cairn/bus/bucket"
	"cairn/bus/telemetry"
	"cairn/services/internal/catalog"
	"cairn/services/internal/index"
)

const (
	// A backend that fails is tried again after a moment, then less often.
	firstRetry = 100 * time.Millisecond
	lastRetry  = 10 * time.Second
	// firstAnswer is how long a start waits for an index that says nothing.
	firstAnswer = 5 * time.Second
	// lookEvery is how often the index is asked whether it is still the same.
	lookEvery = time.Minute
	// measureEvery is how often it is counted how far the index is behind.
	measureEvery = 5 * time.Second
)

// Deps are what a projector works with.
type Deps struct {
	Conn    *bus.Conn
	Catalog *catalog.Catalog
	Index   index.Migrator // closed by the caller, after the projector
	Copies  bucket.Copies  // of what is set aside
	// AckWait is how long changes wait for a worker that was killed, before
	// another one takes them; 0: 30 s.
	AckWait time.Duration
	Log     *slog.Logger
}

// Projector applies the log to an index. All projectors of an index share the
// work, and each knows what the others have applied. It may be used
// concurrently.
type Projector struct {
	deps  Deps
	aside *aside
	seen  *seen

	stop    context.CancelFunc
	running sync.WaitGroup
	deaf    func() // ends the listening to other projectors

	mu     sync.Mutex
	target *target   // nil until the index has answered
	asked  time.Time // when the consumer was asked how far it is

	promoted string // the generation that was promoted last, by the one who runs
}

// Open starts to apply the log, as soon as the index answers: it need not be
// there yet, and is waited for only a moment. The caller closes the projector.
func Open(ctx context.Context, deps Deps) (*Projector, error) {
	if deps.AckWait == 0 {
		deps.AckWait = ackWait
	}
	p := &Projector{deps: deps, seen: newSeen()}
	var err error
	if p.aside, err = openAside(ctx, deps.Conn.JetStream(), deps.Copies); err != nil {
		return nil, err
	}
	if p.deaf, err = bus.Projected.Subscribe(deps.Conn, p.seen.hear); err != nil {
		p.aside.close()
		return nil, fmt.Errorf("listen to other projectors: %w", err)
	}
	running, stop := context.WithCancel(context.Background())
	p.stop = stop
	p.running.Go(func() { p.run(running) })
	p.running.Go(func() { p.measure(running) })
	waiting, cancel := context.WithTimeout(ctx, firstAnswer)
	defer cancel()
	p.seen.begun(waiting)
	return p, nil
}

// Close returns when nothing runs any more. What was not applied is left to
// other projectors, or to the next one.
func (p *Projector) Close() {
	p.stop()
	p.running.Wait()
	p.deaf()
	p.aside.close()
}

// run applies the log until ctx ends. It starts afresh when the consumer or
// the index is not what it was.
func (p *Projector) run(ctx context.Context) {
	wait := retries()
	for {
		began := time.Now()
		err := p.project(ctx)
		if ctx.Err() != nil {
			return
		}
		p.deps.Log.Info("the index is looked at afresh", "why", err)
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

// measure counts every so often how far the index is behind, until ctx ends.
func (p *Projector) measure(ctx context.Context) {
	tick := time.NewTicker(measureEvery)
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

// project applies the log to the index as it is now.
func (p *Projector) project(ctx context.Context) error {
	t, err := persist(ctx, p, "find the index", func() (*target, error) { return p.bind(ctx) })
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
				return p.take(ctx, t.generation, messages)
			})
		}
	})
	return group.Wait()
}

// collect is what is to be applied next; nothing, after a while without any.
func (p *Projector) collect(ctx context.Context, t *target, w work) ([]jetstream.Msg, error) {
	if err := p.look(ctx, t); err != nil {
		return nil, err
	}
	messages, err := t.available(t.room())
	if err == nil && len(messages) == 0 {
		messages, err = p.wait(ctx, t)
	}
	if err != nil || len(messages) == 0 {
		return nil, err
	}
	messages = t.fill(ctx, messages, w, time.Now().Add(p.deps.AckWait/3))
	t.size = size(messages)
	return messages, nil
}

// wait returns when there is something to apply, or after a while.
func (p *Projector) wait(ctx context.Context, t *target) ([]jetstream.Msg, error) {
	if err := p.drained(ctx, t); err != nil {
		return nil, err
	}
	return t.next(ctx)
}

// look makes sure, now and then, that the index is the one that is written to.
func (p *Projector) look(ctx context.Context, t *target) error {
	if time.Since(t.looked) < lookEvery {
		return nil
	}
	t.looked = time.Now()
	name, err := p.deps.Index.Generation(ctx)
	if err != nil {
		return ctx.Err() // who applies finds out
	}
	if name != t.generation {
		return fmt.Errorf("%w: generation %s", index.ErrLost, t.generation)
	}
	if status, err := p.deps.Index.Status(ctx); err == nil {
		p.seen.aim(t.generation, status.Live == status.Fingerprint)
	}
	return ctx.Err()
}

// persist tries again until it succeeds, ctx ends, or the index is lost.
// Meanwhile nobody waits for what is to be applied.
func persist[T any](ctx context.Context, p *Projector, what string, try func() (T, error)) (T, error) {
	done, err := backoff.Retry(ctx, func() (T, error) {
		done, err := try()
		if errors.Is(err, index.ErrLost) {
			err = backoff.Permanent(err)
		}
		return done, err
	}, backoff.WithBackOff(retries()), backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(err error, _ time.Duration) {
		if ctx.Err() == nil && p.seen.stick(err) {
			p.deps.Log.Warn("the index is behind", "attempted", what, "err", err)
		}
	}))
	if err == nil && p.seen.stick(nil) {
		p.deps.Log.Info("the index takes changes again")
	}
	return done, err
}

func retries() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff() // with jitter
	b.InitialInterval, b.MaxInterval = firstRetry, lastRetry
	return b
}
