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
	// queryInterval is the shortest interval between queries of the consumer's state.
	queryInterval = 100 * time.Millisecond
	// maxListed is the number of quarantined records that Status lists.
	maxListed = 10
)

// Visible returns nil once searches include the catalog's revision, at once an error
// with the reason for a longer delay, or the error of ctx.
func (p *Projector) Visible(ctx context.Context, revision uint64) error {
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
		problems = append(problems, fmt.Sprintf("the index rejected %d records, such as %s", s.Quarantined, strings.Join(keys, ", ")))
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
	lag := info.NumPending + uint64(info.NumAckPending)
	return &lag
}

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
