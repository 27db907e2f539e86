package projection_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/bus/natsserver"
	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/embed"
	"cairn/services/internal/index"
	"cairn/services/internal/projection"
	"cairn/test/wait"
)

// server is a fake of a shared index in memory: it outlives its clients and fails on
// demand.
type server struct {
	t testing.TB

	mu       sync.Mutex
	ix       index.Index
	name     string                                                // of the newest generation
	live     string                                                // the searched generation
	lost     bool                                                  // and the generation was not queried since
	fault    func(ctx context.Context, batch []index.Change) error // called before a batch is applied
	applied  map[uint64]int                                        // number of times, by revision
	newest   map[[3]string]uint64                                  // revision by kind, tenant and id
	batches  int
	promoted map[string]int // number of documents at promotion, by generation
}

func newServer(t testing.TB) *server {
	s := &server{t: t, name: "one", live: "one", promoted: map[string]int{}}
	s.empty()
	return s
}

func (s *server) empty() {
	e, err := embed.Open(s.t.Context(), "lexical:")
	if err != nil {
		s.t.Fatal(err)
	}
	if s.ix, err = index.Open("embedded:", e, ""); err != nil {
		s.t.Fatal(err)
	}
	s.applied, s.newest = map[uint64]int{}, map[[3]string]uint64{}
}

// fail installs a fault for all requests; nil: none.
func (s *server) fail(fault func(ctx context.Context, batch []index.Change) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

var errUnavailable = fmt.Errorf("%w: connection refused", index.ErrUnavailable)

func unavailable(context.Context, []index.Change) error { return errUnavailable }

func (s *server) handle(ctx context.Context, batch []index.Change) error {
	s.mu.Lock()
	fault := s.fault
	s.mu.Unlock()
	if fault == nil {
		return nil
	}
	return fault(ctx, batch)
}

func (s *server) Apply(ctx context.Context, batch []index.Change) error {
	err := s.handle(ctx, batch)
	var rejected *index.Rejected
	if err != nil && !errors.As(err, &rejected) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost {
		return index.ErrLost
	}
	s.batches++
	var good []index.Change
	for _, c := range batch {
		if within(rejected, c.Revision) {
			continue
		}
		s.applied[c.Revision]++
		good = append(good, c)
	}
	return errors.Join(s.put(ctx, good), err)
}

// put stores the changes that are not older than those of the same record. The caller holds mu.
func (s *server) put(ctx context.Context, batch []index.Change) error {
	return s.ix.Apply(ctx, slices.DeleteFunc(slices.Clone(batch), func(c index.Change) bool {
		key := [3]string{c.Kind, c.Tenant, c.ID}
		older := c.Revision < s.newest[key]
		s.newest[key] = max(s.newest[key], c.Revision)
		return older
	}))
}

func within(rejected *index.Rejected, revision uint64) bool {
	return rejected != nil &&
		slices.ContainsFunc(rejected.Changes, func(c index.RejectedChange) bool { return c.Revision == revision })
}

func (s *server) Search(ctx context.Context, q index.Query) (index.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ix.Search(ctx, q)
}

func (s *server) Close() {}

func (s *server) Generation(ctx context.Context) (string, error) {
	if err := s.handle(ctx, nil); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = false
	return s.name, nil
}

func (s *server) NewGeneration(ctx context.Context) (string, error) {
	if err := s.handle(ctx, nil); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.name == s.live {
		s.name += "-again"
	}
	return s.name, nil
}

func (s *server) promote(ctx context.Context, name string) error {
	if err := s.handle(ctx, nil); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost {
		return index.ErrLost
	}
	s.live = name
	s.promoted[name] = len(s.applied)
	return nil
}

// client is one projector's view of the server: the generation it queried last.
type client struct {
	*server
	name string
}

func (c *client) Generation(ctx context.Context) (name string, err error) {
	if name, err = c.server.Generation(ctx); err == nil {
		c.name = name
	}
	return name, err
}

func (c *client) Promote(ctx context.Context) error { return c.promote(ctx, c.name) }

func (s *server) Status(ctx context.Context) (index.Status, error) {
	if err := s.handle(ctx, nil); err != nil {
		return index.Status{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return index.Status{Fingerprint: s.name, Live: s.live, Documents: map[string]int{}}, nil
}

func (s *server) Check(ctx context.Context) error { return s.handle(ctx, nil) }

// lose empties the server, as after the loss of its disk.
func (s *server) lose(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.empty()
	s.name, s.live, s.lost = name, name, true
}

// waitLive waits until searches read the generation.
func (s *server) waitLive(name string) {
	wait.Until(s.t, "generation "+name+" is live", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.live == name
	})
}

// isLost reports whether the data was lost and no client has detected it.
func (s *server) isLost() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

// world holds the catalog and the fake index server of a test.
type world struct {
	t       testing.TB
	nats    *natsserver.Server
	conn    *bus.Conn
	log     *catalog.Catalog
	server  *server
	index   func(*world) index.Migrator // opens an index client for a projector
	opened  []index.Migrator
	prefix  string        // of real indices
	timeout time.Duration // AckWait of the projectors
}

func newWorld(t testing.TB) *world {
	t.Helper()
	nats, conn := bustest.Start(t)
	log, err := catalog.Setup(t.Context(), conn.JetStream(), bucket.Replication{Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, nats: nats, conn: conn, log: log, server: newServer(t), timeout: time.Second}
	w.index = func(w *world) index.Migrator { return &client{server: w.server} }
	return w
}

// projector starts a projector with a separate connection.
func (w *world) projector() *projection.Projector {
	w.t.Helper()
	p, _ := w.projectorOn(bustest.Dial(w.t, w.nats))
	w.t.Cleanup(p.Close)
	return p
}

func (w *world) projectorOn(conn *bus.Conn) (*projection.Projector, *bus.Conn) {
	w.t.Helper()
	log, err := catalog.Setup(w.t.Context(), conn.JetStream(), bucket.Replication{Replicas: 1})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := projection.Setup(w.t.Context(), conn.JetStream(), bucket.Replication{Replicas: 1}); err != nil {
		w.t.Fatal(err)
	}
	ix := w.index(w)
	w.opened = append(w.opened, ix)
	p, err := projection.Open(w.t.Context(), projection.Deps{
		Conn: conn, Catalog: log, Index: ix, AckWait: w.timeout, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return p, conn
}

func key(id string) catalog.Key { return catalog.Key{Kind: schemas.KindSkill, ID: id} }

// put registers a skill with the words as its purpose.
func (w *world) put(id, words string) uint64 {
	w.t.Helper()
	return w.putRecord(id, fmt.Sprintf(`{"skill_id":%q,"purpose":%q}`, id, words))
}

func (w *world) putRecord(id, record string) uint64 {
	w.t.Helper()
	revision, err := w.log.Put(w.t.Context(), key(id), []byte(record))
	if err != nil {
		w.t.Fatal(err)
	}
	return revision
}

func (w *world) remove(id string) uint64 {
	w.t.Helper()
	revision, _, err := w.log.Delete(w.t.Context(), key(id), func(uint64) error { return nil })
	if err != nil {
		w.t.Fatal(err)
	}
	return revision
}

// found returns the best hit for the words; empty when there is none.
func (w *world) found(words string) string {
	w.t.Helper()
	r, err := w.server.Search(w.t.Context(), index.Query{Kind: schemas.KindSkill, Text: words, TopK: 1})
	if err != nil {
		w.t.Fatal(err)
	}
	if len(r.Hits) == 0 {
		return ""
	}
	return r.Hits[0].ID
}

// visible waits for the revision.
func (w *world) visible(p *projection.Projector, revision uint64) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), wait.Timeout)
	defer cancel()
	if err := p.WaitVisible(ctx, revision); err != nil {
		w.t.Fatalf("revision %d is not visible: %v", revision, err)
	}
}

// caughtUp waits until the whole log was applied.
func (w *world) caughtUp(p *projection.Projector) {
	w.t.Helper()
	wait.Until(w.t, "no change is pending", func() bool {
		s, _ := p.Status(w.t.Context())
		return s.Lag != nil && *s.Lag == 0
	})
}

// blocked delays all batches until the channel is closed.
func blocked(until <-chan struct{}) func(context.Context, []index.Change) error {
	return func(ctx context.Context, batch []index.Change) error {
		if len(batch) == 0 {
			return nil
		}
		select {
		case <-until:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// held delays batches with the word in a title and signals each.
func held(word string, began chan<- struct{}, until <-chan struct{}) func(context.Context, []index.Change) error {
	return func(ctx context.Context, batch []index.Change) error {
		if len(titled(batch, word)) == 0 {
			return nil
		}
		began <- struct{}{}
		return blocked(until)(ctx, batch)
	}
}

// titled returns the changes with the word in their title.
func titled(batch []index.Change, word string) []index.Change {
	var some []index.Change
	for _, c := range batch {
		if strings.Contains(c.Title, word) {
			some = append(some, c)
		}
	}
	return some
}

// rejected returns the error of an index that rejects the changes; nil for none.
func rejected(poison []index.Change) error {
	if len(poison) == 0 {
		return nil
	}
	r := &index.Rejected{}
	for _, c := range poison {
		r.Changes = append(r.Changes, index.RejectedChange{Change: c, Reason: "too strange"})
	}
	return r
}
