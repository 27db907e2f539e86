package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/jetstreamext"

	"cairn/bus/admission"
	"cairn/bus/bucket"
	"cairn/schemas"
)

// Run is a run with stored events.
type Run struct {
	Name    string
	State   string // schemas.RunRunning, …
	Started time.Time
	Updated time.Time // when its last events were stored
}

const (
	// maxLists is the number of lists that a Lister reads at the same time. A tenant reads one, so that
	// another can.
	maxLists = 2
	// listBatch is the number of runs whose last messages one request reads. The server permits 1,024, and
	// sends their events too.
	listBatch = 256
)

// Lister lists the runs of a replay stream. It reads only the last message of a run, and caches a run
// that has ended until its events expire. It may be used concurrently.
type Lister struct {
	lists *admission.Pool // lists in progress

	mu    sync.Mutex
	ended map[string]Run // by subject
}

// NewLister returns a Lister with an empty cache.
func NewLister() *Lister { return &Lister{lists: admission.NewPool(maxLists), ended: map[string]Run{}} }

// Query selects the runs of a list.
type Query struct {
	Events Location               // the names of the runs match the wildcard of its subject
	Tenant string                 // waits while it reads another list
	Owned  func(name string) bool // selects runs
}

// List returns the selected runs with stored events, in no order. The error wraps bucket.ErrNoStream if
// there is no stream.
func (l *Lister) List(ctx context.Context, js jetstream.JetStream, q Query) (runs []Run, err error) {
	if err := l.lists.Wait(ctx, q.Tenant, 1); err != nil {
		return nil, err
	}
	defer l.lists.Release(q.Tenant, 1)
	stored, err := subjects(ctx, js, q.Events)
	if err != nil {
		return nil, err
	}
	before, after, _ := strings.Cut(q.Events.Subject, "*")
	name := func(subject string) string { return strings.TrimSuffix(strings.TrimPrefix(subject, before), after) }
	runs, unread := l.cached(stored, func(subject string) bool { return q.Owned(name(subject)) })
	for batch := range slices.Chunk(unread, listBatch) {
		last, err := lastMessages(ctx, js, q.Events.Stream, batch)
		if err != nil {
			return nil, err
		}
		for _, msg := range last {
			run := runOf(name(msg.Subject), msg)
			runs = append(runs, run)
			l.cache(msg.Subject, run)
		}
	}
	return runs, nil
}

// subjects returns the subjects of the stored events.
func subjects(ctx context.Context, js jetstream.JetStream, events Location) (map[string]uint64, error) {
	s, err := js.Stream(ctx, events.Stream)
	if err == nil {
		var info *jetstream.StreamInfo
		if info, err = s.Info(ctx, jetstream.WithSubjectFilter(events.Subject)); err == nil {
			return info.State.Subjects, nil
		}
	}
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		err = fmt.Errorf("%w: %w", bucket.ErrNoStream, errNoStream)
	}
	return nil, err
}

// cached returns the cached runs among the stored ones that owned permits, and the subjects of the
// others. It removes expired runs from the cache.
func (l *Lister) cached(stored map[string]uint64, owned func(subject string) bool) (runs []Run, unread []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.ended, func(subject string, _ Run) bool { return stored[subject] == 0 })
	for subject := range stored {
		if !owned(subject) {
			continue
		}
		if run, ok := l.ended[subject]; ok {
			runs = append(runs, run)
		} else {
			unread = append(unread, subject)
		}
	}
	return runs, unread
}

// cache caches the run if it has ended.
func (l *Lister) cache(subject string, run Run) {
	if run.State == schemas.RunRunning {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended[subject] = run
}

// lastMessages returns the last message of each of the subjects that has one.
func lastMessages(ctx context.Context, js jetstream.JetStream, stream string,
	subjects []string) ([]*jetstream.RawStreamMsg, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	last, err := bucket.Collect(jetstreamext.GetLastMsgsFor(ctx, js, stream, subjects))
	return last, readError(ctx, err)
}

// runOf returns the run with the last message msg.
func runOf(name string, msg *jetstream.RawStreamMsg) Run {
	started, err := time.Parse(time.RFC3339Nano, msg.Header.Get(headerStarted))
	if err != nil { // another version has stored it
		started = msg.Time
	}
	return Run{name, cmp.Or(msg.Header.Get(headerState), schemas.RunRunning), started, msg.Time}
}
