// Package services runs the services behind the edge: tags, register, resolve, analyze
// and render, each in its own package. Run connects them to their backends.
package services

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"cairn/bus"
	"cairn/bus/audit"
	"cairn/bus/bucket"
	"cairn/schemas"
	"cairn/services/analyze"
	"cairn/services/internal/catalog"
	"cairn/services/internal/embed"
	"cairn/services/internal/index"
	"cairn/services/internal/lazy"
	"cairn/services/internal/projection"
	"cairn/services/internal/quota"
	"cairn/services/internal/usage"
	"cairn/services/register"
	"cairn/services/render"
	"cairn/services/resolve"
	"cairn/services/tags"
)

// DefaultRoles returns the services that run by default. The built-in rendering agent also runs
// if --render selects it.
func DefaultRoles() []string { return bus.Services() }

// AllRoles returns the names of all services in the order in which they stop.
func AllRoles() []string { return append(DefaultRoles(), "render") }

// Run runs the services of c.Roles on conn until ctx ends. It then drains them and
// returns nil, or bus.ErrDrainTimeout if that exceeds c.Drain. It waits for the NATS server and
// for the streams that Setup creates. ready is called once, when all services are ready.
func Run(ctx context.Context, conn *bus.Conn, c Config, ready func()) (err error) {
	w := &wiring{conn: conn, Config: c, services: map[string]*bus.Service{}, failed: make(chan error, 1)}
	w.catalog, w.search = lazy.New(w.openCatalog), lazy.New(w.openSearch)
	if len(w.Roles) == 0 {
		w.Roles = DefaultRoles()
		if c.Render == bus.Render.Subject {
			w.Roles = AllRoles()
		}
	}
	defer func() { err = errors.Join(err, w.stop()) }()
	if err := w.start(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	ready()
	select {
	case <-ctx.Done():
		return nil
	case <-conn.Closed():
		return errors.New("the connection to NATS was closed")
	case err := <-w.failed:
		return err
	}
}

const (
	// watchService is the name of the service of watches, which run next to resolve.
	watchService = "watch"
	// maxWatches is the number of watches of a worker. Each has a consumer of the catalog.
	maxWatches = 256
)

// ErrCatalogReplaced is the error of Run when the catalog was deleted or replaced, also by an older copy of itself.
var ErrCatalogReplaced = catalog.ErrReplaced

// catalogCheckInterval is the interval at which the catalog is checked for replacement.
const catalogCheckInterval = 5 * time.Second

// wiring holds the shared dependencies of the services of a process, and closes them.
type wiring struct {
	Config
	conn *bus.Conn

	catalog *lazy.Value[*catalog.Catalog]
	search  *lazy.Value[search]

	mu       sync.Mutex
	services map[string]*bus.Service // by role
	closers  []func()
	entries  *audit.Writer // nil: no register worker

	failed chan error // a fatal error
}

// start starts all services concurrently.
func (w *wiring) start(ctx context.Context) error {
	for _, role := range w.Roles {
		if !slices.Contains(AllRoles(), role) {
			return fmt.Errorf("unknown service %q; expected one of %v", role, AllRoles())
		}
	}
	if err := w.conn.WaitConnected(ctx); err != nil {
		return err
	}
	if maxPayload := w.conn.MaxPayload(); maxPayload < 2*bus.MaxBody {
		w.Log.Warn("max_payload of NATS is too small: large records and replies are rejected", "max_payload", maxPayload,
			"wanted", 2*bus.MaxBody)
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, role := range w.Roles {
		group.Go(func() error {
			if err := w.serve(ctx, role); err != nil {
				return fmt.Errorf("service %s: %w", role, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// serve starts one service. Its dependencies are opened before it subscribes, so that a
// worker receives no request before it is ready.
func (w *wiring) serve(ctx context.Context, role string) error {
	switch role {
	case "tags":
		return w.tags(ctx)
	case "register":
		return w.register(ctx)
	case "resolve":
		return w.resolve(ctx)
	case "render":
		return w.run("render", w.Slots, render.Serve)
	default:
		return w.analyze(ctx)
	}
}

func (w *wiring) tags(ctx context.Context) error {
	store, err := tags.Open(ctx, w.conn, tags.Settings{
		Limit: quota.Limit{Amount: w.TenantTags, Things: "tags", CountFlag: "--tenant-tags", BytesFlag: "--tenant-tags-size"},
	})
	if err != nil {
		return err
	}
	w.onStop(store.Close)
	return w.run("tags", w.Slots, func(s *bus.Service) error { return tags.Serve(s, store, w.TagTTL) })
}

func (w *wiring) register(ctx context.Context) error {
	log, err := w.catalog.Get(ctx)
	if err != nil {
		return err
	}
	counter, err := register.OpenCounter(ctx, log, quota.Limit{
		Amount: w.TenantRecords, Things: "records", CountFlag: "--tenant-records", BytesFlag: "--tenant-records-size",
	})
	if err != nil {
		return err
	}
	w.onStop(counter.Close)
	deps := register.Deps{Catalog: log, Counter: counter, WaitVisible: register.ConfirmVisible(w.conn, log)}
	deps.Referrers = func(ctx context.Context, q schemas.ReferrerQuery) (schemas.ReferrerList, error) {
		return bus.Referrers.Call(ctx, w.conn, q)
	}
	if deps.Audit, err = audit.Open(ctx, w.conn.JetStream()); err != nil {
		return err
	}
	w.entries = audit.StartWriter(w.conn.JetStream())
	deps.Entries = w.entries
	w.recoverAudit(ctx, deps)
	writes := bus.MonitorWrites(w.conn, catalog.Bucket, "catalog")
	w.onStop(writes.Close)
	deps.StorageWarnings = func(ctx context.Context) ([]string, error) {
		warnings, err := w.storageWarnings(ctx, log.Replication())
		return append(writes.Problems(), warnings...), err
	}
	if shared(w.Index) {
		if deps.Projector, err = w.projector(ctx, log); err != nil {
			return err
		}
		deps.WaitVisible = deps.Projector.WaitVisible
	}
	return w.run("register", w.Slots, func(s *bus.Service) error { return register.Serve(s, deps) })
}

// recoverAudit adds missing entries to the audit log while the worker serves, since it reads thousands of entries.
func (w *wiring) recoverAudit(ctx context.Context, deps register.Deps) {
	lifetime, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var recovering sync.WaitGroup
	recovering.Go(func() {
		err := register.RecoverAudit(lifetime, deps.Catalog, deps.Audit, deps.Entries)
		if err != nil && lifetime.Err() == nil {
			w.Log.Warn("changes may be missing in the audit log", "err", err)
		}
	})
	w.onStop(func() { cancel(); recovering.Wait() })
}

// storageWarnings describes the buckets written by a registration, and the storage as a whole, if
// they are nearly full, and the missing replicas of these buckets and of the caches.
func (w *wiring) storageWarnings(ctx context.Context, r bucket.Replication) ([]string, error) {
	return bucket.ProblemsOf(ctx, w.conn.JetStream(), r,
		bucket.StreamPrefix+bucket.Catalog, bucket.StreamPrefix+bucket.Quarantine, bucket.StreamPrefix+bucket.Keys,
		bucket.StreamPrefix+bucket.Embeddings, catalog.HistoryStream, usage.Stream, analyze.SummaryStream, audit.Stream,
		bus.Analyze.ReplayStream())
}

// projector starts the projection of the catalog into the shared index.
func (w *wiring) projector(ctx context.Context, log *catalog.Catalog) (*projection.Projector, error) {
	s, err := w.search.Get(ctx)
	if err != nil {
		return nil, err
	}
	p, err := projection.Open(ctx, projection.Deps{
		Conn: w.conn, Catalog: log, Index: s.index.(index.Migrator), Log: w.Log,
	})
	if err != nil {
		return nil, err
	}
	w.onStop(p.Close)
	return p, nil
}

func (w *wiring) resolve(ctx context.Context) error {
	log, err := w.catalog.Get(ctx)
	if err != nil {
		return err
	}
	search, err := w.search.Get(ctx)
	if err != nil {
		return err
	}
	uses := usage.Start(w.conn.JetStream())
	w.onStop(uses.Close)
	ix := search.index
	if ix == nil { // an embedded index begins empty and needs no closing
		if ix, err = index.Open(w.Index, search.embedder, log.ID()); err != nil {
			return err
		}
	}
	resolver, err := resolve.Open(ctx, resolve.Deps{
		Usage: uses, Catalog: log, Index: ix, Embedder: search.embedder, Feed: !shared(w.Index), Log: w.Log,
		Backends: map[string]string{"index": schemas.RedactURLs(w.Index), "embed": schemas.RedactURLs(w.Embed)},
	})
	if err != nil {
		return err
	}
	w.onStop(resolver.Close)
	if err := w.run("resolve", w.Slots, func(s *bus.Service) error { return resolve.Serve(s, resolver) }); err != nil {
		return err
	}
	return w.run(watchService, maxWatches, func(s *bus.Service) error { return resolve.ServeWatch(s, resolver) })
}

func (w *wiring) analyze(ctx context.Context) error {
	lifetime, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w.onStop(cancel)
	m, err := openModel(lifetime, w.Model)
	if err != nil {
		return err
	}
	if _, err := bucket.Bind(ctx, w.conn.JetStream(), bus.Analyze.ReplayStream()); err != nil {
		return err
	}
	return w.run("analyze", w.Slots, func(s *bus.Service) error {
		return analyze.Serve(s, analyze.Deps{
			Conn: w.conn, Model: m, Render: w.Render, Memory: w.AnalysisMemory, EstateMemory: w.EstateMemory,
			Grace: w.Grace, Runs: w.StreamLimit, Log: w.Log,
		})
	})
}

// openCatalog opens and monitors the catalog.
func (w *wiring) openCatalog(ctx context.Context) (*catalog.Catalog, error) {
	log, err := catalog.Open(ctx, w.conn.JetStream())
	if err == nil {
		w.monitorCatalog(ctx, log)
	}
	return log, err
}

// monitorCatalog ends Run with ErrCatalogReplaced when the catalog is replaced: its views have records that the
// catalog lacks. A new process reads the new catalog.
func (w *wiring) monitorCatalog(ctx context.Context, log *catalog.Catalog) {
	lifetime, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var monitoring sync.WaitGroup
	monitoring.Go(func() {
		if err := log.Monitor(lifetime, catalogCheckInterval); err != nil {
			w.failed <- err
		}
	})
	w.onStop(func() { cancel(); monitoring.Wait() })
}

// run starts a service that handles at most slots requests concurrently.
func (w *wiring) run(name string, slots int, serve func(*bus.Service) error) error {
	s, err := bus.Start(w.conn, name, slots, w.Log)
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.services[name] = s
	w.mu.Unlock()
	return serve(s)
}

func (w *wiring) onStop(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closers = append(w.closers, f)
}

// stop drains the services in the order of AllRoles, so that pending registrations are still
// confirmed, and then closes their dependencies in reverse order. All share one deadline; after it
// the remaining services stop concurrently.
func (w *wiring) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), w.Drain)
	defer cancel()
	if w.DrainContext != nil {
		defer context.AfterFunc(w.DrainContext, cancel)()
	}
	var errs []error
	var late errgroup.Group
	for _, role := range append([]string{watchService}, AllRoles()...) {
		s := w.services[role]
		if s == nil {
			continue
		}
		stop := func() error {
			err := s.Stop(ctx)
			if err != nil {
				err = fmt.Errorf("service %s: %w", role, err)
			}
			return err
		}
		if ctx.Err() != nil {
			late.Go(stop)
		} else {
			errs = append(errs, stop())
		}
	}
	errs = append(errs, late.Wait())
	if w.entries != nil {
		w.entries.Close(ctx)
	}
	for _, f := range slices.Backward(w.closers) {
		f()
	}
	return errors.Join(errs...)
}

// openSearch opens the embedder, and the index if it is shared. Their servers may be unavailable. The
// embedder is monitored until the process stops.
func (w *wiring) openSearch(ctx context.Context) (search, error) {
	lifetime, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w.onStop(cancel)
	e, err := embed.Open(lifetime, w.Embed)
	if err != nil {
		return search{}, err
	}
	if space := e.Space(); !space.Lexical && !space.Static { // computing these is as fast as a cache
		e = embed.Cached(e, w.vectors(ctx))
	}
	s := search{embedder: e}
	if shared(w.Index) {
		if s.index, err = w.openIndex(ctx, e); err != nil {
			return search{}, err
		}
	}
	var monitoring sync.WaitGroup
	monitoring.Go(func() { embed.Monitor(lifetime, e) })
	w.onStop(func() { cancel(); monitoring.Wait() })
	w.warm(ctx, e)
	return s, nil
}

// openIndex opens the shared index.
func (w *wiring) openIndex(ctx context.Context, e embed.Embedder) (index.Index, error) {
	log, err := w.catalog.Get(ctx)
	if err != nil {
		return nil, err
	}
	ix, err := index.Open(w.Index, e, log.ID())
	if err != nil {
		return nil, err
	}
	w.onStop(ix.Close)
	return ix, nil
}

// vectors opens the cache of the embedder, or returns nil and logs the reason.
func (w *wiring) vectors(ctx context.Context) *embed.Cache {
	cache, err := embed.OpenCache(ctx, w.conn.JetStream())
	if err != nil {
		w.Log.Warn("vectors are not cached", "err", err)
		return nil
	}
	return cache
}

// warm waits until the embedding model is loaded, so that the first requests do not wait.
// A failure is logged.
func (w *wiring) warm(ctx context.Context, e embed.Embedder) {
	ctx, cancel := context.WithTimeout(ctx, warmTimeout)
	defer cancel()
	if err := embed.Warm(ctx, e); err != nil {
		w.Log.Warn("the embedding model is not loaded yet", "err", err)
	}
}
