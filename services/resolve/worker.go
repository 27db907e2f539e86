package resolve

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"cairn/bus"
	"cairn/bus/retry"
	"cairn/schemas"
)

// reopenInterval is the interval of attempts to open another resolver.
const reopenInterval = time.Second

// Worker answers requests with a Resolver, which it can replace.
type Worker struct {
	open func(context.Context) (*Resolver, error)
	log  *slog.Logger

	rebuilding sync.Mutex // held by Rebuild

	mu      sync.RWMutex
	current *Resolver
	stale   error // reason for the rebuild in progress; nil: none
}

// Start opens a resolver with open. The caller closes the worker.
func Start(ctx context.Context, log *slog.Logger, open func(context.Context) (*Resolver, error)) (*Worker, error) {
	first, err := open(ctx)
	if err != nil {
		return nil, err
	}
	return &Worker{open: open, log: log, current: first}, nil
}

// Rebuild replaces the resolver by one that reads the log from its beginning. Until then the
// worker answers with the old one, and its health is degraded with the reason.
func (w *Worker) Rebuild(ctx context.Context, reason error) {
	w.rebuilding.Lock()
	defer w.rebuilding.Unlock()
	w.log.Error("rebuilding the view of the catalog", "reason", reason)
	w.replace(nil, reason)
	for {
		next, err := w.open(ctx)
		if err == nil {
			w.replace(next, nil).Close()
			return
		}
		if retry.Sleep(ctx, reopenInterval) != nil {
			return
		}
		w.log.Warn("the view of the catalog is not rebuilt yet", "err", err)
	}
}

// replace sets the resolver, unless it is nil, and the reason for the rebuild in progress.
// It returns the previous resolver.
func (w *Worker) replace(next *Resolver, stale error) (before *Resolver) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before = w.current
	if next != nil {
		w.current = next
	}
	w.stale = stale
	return before
}

func (w *Worker) resolver() (current *Resolver, stale error) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.current, w.stale
}

// Close closes the resolver. Requests are still answered.
func (w *Worker) Close() {
	w.rebuilding.Lock()
	defer w.rebuilding.Unlock()
	r, _ := w.resolver()
	r.Close()
}

// withResolver returns a handler that calls handle with the current resolver.
func withResolver[Req, Res any](
	w *Worker, handle func(context.Context, *Resolver, Req) (Res, error),
) func(context.Context, Req) (Res, error) {
	return func(ctx context.Context, req Req) (Res, error) {
		r, _ := w.resolver()
		return handle(ctx, r, req)
	}
}

// Serve answers the resolve and listing endpoints and the service's health on s.
func (w *Worker) Serve(s *bus.Service) error {
	return errors.Join(
		bus.ResolveSkill.Serve(s, withResolver(w, resolveSkill)),
		bus.ResolvePackage.Serve(s, withResolver(w, resolvePackage)),
		bus.ResolveAgent.Serve(s, withResolver(w, resolveAgent)),
		bus.ResolveContext.Serve(s, withResolver(w, resolveContext)),
		bus.ResolveContextBuilders.Serve(s, withResolver(w, resolveContext)),
		bus.ResolveTools.Serve(s, withResolver(w, resolveTools)),
		bus.ResolveToolClass.Serve(s, withResolver(w, resolveToolClass)),
		bus.ResolveTemplate.Serve(s, withResolver(w, resolveTemplate)),
		bus.ResolveGuardrail.Serve(s, withResolver(w, resolveGuardrail)),
		bus.ListSkills.Serve(s, withResolver(w, listSkills)),
		bus.ListTools.Serve(s, withResolver(w, listTools)),
		bus.ListRecords.Serve(s, withResolver(w, listRecords)),
		bus.SearchRecords.Serve(s, withResolver(w, searchRecords)),
		bus.GetRecord.Serve(s, withResolver(w, getRecord)),
		bus.RecordHistory.Serve(s, withResolver(w, recordHistory)),
		bus.Referrers.Serve(s, withResolver(w, listReferrers)),
		bus.RecordUsage.Serve(s, withResolver(w, recordUsage)),
		bus.ServeHealth(s, "resolve", w.health, w.confirm),
	)
}

// ServeWatch answers watches on s, which should serve nothing else: a watch holds its slot
// until it ends.
func (w *Worker) ServeWatch(s *bus.Service) error {
	return bus.Watch.Serve(s, func(ctx context.Context, req schemas.Watch, to bus.Sender) error {
		r, _ := w.resolver()
		return watch(ctx, r, req, to)
	})
}

// confirm returns once the current resolver has applied the minimum revision of the request.
func (w *Worker) confirm(ctx context.Context) (uint64, error) {
	r, _ := w.resolver()
	return r.confirm(ctx)
}

func (w *Worker) health(ctx context.Context) (schemas.Health, error) {
	r, stale := w.resolver()
	h := r.health(ctx)
	if stale != nil {
		h.Status, h.Degraded = schemas.StatusDegraded, append(h.Degraded, "rebuilding the view from the catalog: "+stale.Error())
	}
	return h, nil
}
