package projection

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/index"
)

const (
	// askEvery is how often, at most, the consumer is asked how far it is.
	askEvery = 100 * time.Millisecond
	// named is how many of the records set aside are told of.
	named = 10
)

// Visible returns nil once searches see the catalog's revision. It returns at
// once, and says why, when that will not be so soon; else when ctx ends.
func (p *Projector) Visible(ctx context.Context, revision uint64) error {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		open, err := p.seen.verdict(revision)
		if open == nil {
			return err
		}
		select {
		case <-open:
		case <-tick.C:
			// A revision that was followed by another one is never applied,
			// and nobody tells of it; nor of one of long ago.
			p.ask(ctx)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ask asks how far all projectors together are, unless someone just has.
func (p *Projector) ask(ctx context.Context) {
	p.mu.Lock()
	t, due := p.target, time.Since(p.asked) >= askEvery
	if due {
		p.asked = time.Now()
	}
	p.mu.Unlock()
	if t == nil || !due {
		return
	}
	if info, err := t.consumer.Info(ctx); err == nil {
		p.seen.reach(t.generation, reached(info))
	}
}

// Status is how the index is, and what is wrong with it, one sentence each.
func (p *Projector) Status(ctx context.Context) (*schemas.IndexStatus, []string) {
	lag := p.lag(ctx) // before an index that is silent has used up the time
	s, wrong := Status(ctx, p.deps.Index)
	s.Lag = lag
	if why := p.seen.why(); why != nil && len(wrong) == 0 {
		wrong = []string{why.Error()}
	}
	for i, sentence := range wrong {
		wrong[i] = "new records become searchable later: " + sentence
	}
	if s.Aside, s.AsideRecords = p.aside.list(named); s.Aside > 0 {
		var keys []string
		for _, r := range s.AsideRecords {
			keys = append(keys, r.Key)
		}
		wrong = append(wrong, fmt.Sprintf("the index refuses %d records, such as %s", s.Aside, strings.Join(keys, ", ")))
	}
	return s, wrong
}

// lag is how many changes of the log are not applied yet; nil: it is not known.
func (p *Projector) lag(ctx context.Context) *uint64 {
	t := p.aimed()
	if t == nil {
		return nil
	}
	consumer, err := p.deps.Conn.JetStream().Consumer(ctx, catalog.Stream, durable(t.generation))
	if err != nil {
		return nil
	}
	info := consumer.CachedInfo()
	lag := info.NumPending + uint64(info.NumAckPending)
	return &lag
}

// Status is how an index is, as far as its server says, and what is wrong.
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
