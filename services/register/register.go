// Package register writes records to the catalog and removes them. A registration
// is acknowledged when its record is durable and searchable, or after 5 s with indexed: false.
package register

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"cairn/bus"
	"cairn/bus/audit"
	"cairn/bus/bucket"
	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/projection"
	"cairn/services/internal/scope"
)

// visibleTimeout bounds the wait for the record to become searchable, which
// usually takes milliseconds, and up to two seconds under load. After it the
// response reports indexed as false.
const visibleTimeout = 5 * time.Second

// WaitVisible waits until search includes the catalog revision. It returns an error if
// this is not confirmed before ctx ends.
type WaitVisible func(ctx context.Context, revision uint64) error

// ConfirmVisible returns a WaitVisible that queries one resolve worker with an embedded index: its
// health check returns once the worker has applied the revision. Other workers catch up
// when a read requires it.
func ConfirmVisible(conn *bus.Conn, c *catalog.Catalog) WaitVisible {
	return func(ctx context.Context, revision uint64) error {
		ctx = bus.WithTokens(ctx, schemas.ConsistencyToken{Catalog: c.ID(), Revision: revision})
		_, err := bus.Health("resolve").Call(ctx, conn, schemas.Nothing{})
		return err
	}
}

// Deps are the dependencies of the service.
type Deps struct {
	Catalog     *catalog.Catalog
	WaitVisible WaitVisible
	Audit       *audit.Log
	// Entries adds to the audit log. The caller closes it after the service.
	Entries *audit.Writer
	// Referrers returns the records that link to one.
	Referrers func(context.Context, schemas.ReferrerQuery) (schemas.ReferrerList, error)
	// Counter enforces the quota of each tenant. The caller closes it after the service.
	Counter *Counter
	// StorageWarnings describes the buckets that store no messages or are nearly full, for the health.
	StorageWarnings func(context.Context) ([]string, error)
	// Projector writes to the shared index; nil if resolve workers have embedded
	// indexes. The caller closes it after the service.
	Projector *projection.Projector
}

// Serve answers the registration endpoints and the service's health on s. The
// response reports indexed as false if visibility is not confirmed in time.
func Serve(s *bus.Service, d Deps) error {
	r := handlers{d}
	return errors.Join(
		bus.RegisterSkill.Serve(s, r.skill),
		bus.RegisterAgent.Serve(s, r.agent),
		bus.RegisterTool.Serve(s, r.tool),
		bus.RegisterContextBuilder.Serve(s, r.contextBuilder),
		bus.RegisterGuardrail.Serve(s, r.guardrail),
		bus.RegisterTemplate.Serve(s, r.template),
		bus.Unregister.Serve(s, deletions{r}.unregister),
		bus.PutRecord.Serve(s, r.putRecord),
		bus.PutRecords.Serve(s, r.putRecords),
		bus.DeleteRecord.Serve(s, deletions{r}.deleteRecord),
		bus.PutAlias.Serve(s, aliases{r}.put),
		bus.DeleteAlias.Serve(s, aliases{r}.delete),
		bus.RecordQuota.Serve(s, r.quota),
		bus.ListTenants.Serve(s, r.tenants),
		bus.Reindex.Serve(s, r.reindex),
		bus.Audit.Serve(s, d.Audit.Page),
		bus.ServeHealth(s, "register", r.health, nil),
	)
}

// handlers has the handlers of the endpoints. A record is registered by these methods, each of which
// calls the next one:
//
//	checkAndPut     rejects a strict request with warnings; only if the request may have warnings
//	putAndConfirm   waits until the change is in the audit log and the record is searchable
//	putDurable      limits the time of the write, and returns the error for the caller; bulk requests begin here
//	putWithinQuota  reserves the record in the quota of its tenant, unless an earlier copy has stored it
//	putIfPermitted  writes to the catalog, if the precondition of the request holds
type handlers struct{ Deps }

// quota returns the quota of a tenant and what it stores. It may lag behind registrations by other workers.
func (r handlers) quota(_ context.Context, q schemas.QuotaQuery) (schemas.Quota, error) {
	return r.Counter.Quota(schemas.TenantOf(&q)), nil
}

// tenants returns the tenants that store records. A caller that is bound to tenants sees those.
func (r handlers) tenants(ctx context.Context, q schemas.TenantQuery) (schemas.TenantList, error) {
	caller := bus.Identity(ctx)
	return r.Counter.Tenants(q, func(tenant string) bool {
		return !caller.Bound() || slices.Contains(caller.Tenants, tenant)
	}), nil
}

// putAndConfirm stores the record and waits until it is searchable.
func (r handlers) putAndConfirm(ctx context.Context, e entry) (schemas.Registered, error) {
	w, err := r.putDurable(ctx, e)
	if err != nil {
		return schemas.Registered{}, err
	}
	registered, err := r.confirm(ctx, w.Revision, changesOf(e.key, w)...)
	registered.Unchanged = w.Unchanged
	return registered, err
}

// changesOf returns the change that a write has made, or none.
func changesOf(key catalog.Key, w catalog.Written) []catalog.Change {
	if w.Revision == 0 || w.Unchanged {
		return nil
	}
	return []catalog.Change{{Key: key, Revision: w.Revision, Replaces: w.Replaces}}
}

// putDurable stores the record.
func (r handlers) putDurable(ctx context.Context, e entry) (w catalog.Written, err error) {
	err = bucket.WithReplyMargin(ctx, "catalog", func(ctx context.Context) (err error) {
		w, err = r.putWithinQuota(ctx, e)
		return err
	})
	if err != nil {
		return catalog.Written{}, keyError(err, "register", e.key.Kind+"_id", e.key)
	}
	return w, nil
}

// putWithinQuota stores the record within the quota of its tenant.
func (r handlers) putWithinQuota(ctx context.Context, e entry) (w catalog.Written, err error) {
	done, exceeded := r.Counter.reserve(ctx, e.key, e.record)
	if exceeded != nil {
		if w, err = r.Catalog.Stored(ctx, e.key); w.Revision == 0 && err == nil {
			err = exceeded
		}
		return w, err
	}
	w, err = r.putIfPermitted(ctx, e.key, e.record)
	done(w.Revision)
	return w, err
}

// putIfPermitted stores the record if it differs from the current one and the precondition of the request permits
// it.
func (r handlers) putIfPermitted(ctx context.Context, key catalog.Key, record []byte) (catalog.Written, error) {
	p := bus.Precondition(ctx)
	permits := r.permits(p)
	if p == (schemas.Precondition{}) && !r.Counter.has(key) {
		permits = nil
	}
	return r.Catalog.PutIf(ctx, key, record, permits)
}

// permits returns the precondition as a condition of the catalog.
func (r handlers) permits(p schemas.Precondition) catalog.Condition {
	return func(revision uint64) error {
		return p.Check(schemas.ConsistencyToken{Catalog: r.Catalog.ID(), Revision: revision})
	}
}

func (r handlers) delete(ctx context.Context, u schemas.Unregister) (schemas.Unregistered, error) {
	key := keyOf(u.Kind, u.TenantID, u.ID)
	var revision uint64
	var changes []catalog.Change
	err := bucket.WithReplyMargin(ctx, "catalog", func(ctx context.Context) (err error) {
		var removed bool
		if revision, removed, err = r.Catalog.Delete(ctx, key, r.permits(bus.Precondition(ctx))); err == nil {
			changes, err = aliases{r}.deleteAll(ctx, key)
		}
		if removed {
			changes = append(changes, catalog.Change{Key: key, Revision: revision, Removed: true})
		}
		return err
	})
	if err != nil {
		_ = r.audit(ctx, changes...) // Entries retries it
		return schemas.Unregistered{}, keyError(err, "delete", "id", key)
	}
	var names []string
	for _, c := range changes {
		if revision = max(revision, c.Revision); c.Key.Alias != "" {
			names = append(names, c.Key.Alias)
		}
	}
	registered, err := r.confirm(ctx, revision, changes...)
	return schemas.Unregistered{Registered: registered, Aliases: names}, err
}

// confirm waits until durable changes are in the audit log and the revision is searchable, and returns the response.
func (r handlers) confirm(ctx context.Context, revision uint64, changes ...catalog.Change) (schemas.Registered, error) {
	registered := schemas.Registered{Catalog: r.Catalog.ID(), Revision: revision}
	var audited errgroup.Group
	audited.Go(func() error { return r.audit(ctx, changes...) })
	waiting, cancel := context.WithTimeout(ctx, visibleTimeout)
	defer cancel()
	err := bucket.WithReplyMargin(waiting, "catalog",
		func(ctx context.Context) error { return r.WaitVisible(ctx, revision) })
	if err != nil {
		registered.Indexed = new(bool)
	}
	return registered, audited.Wait()
}

// audit adds the entries of durable changes to the audit log.
func (r handlers) audit(ctx context.Context, changes ...catalog.Change) error {
	var group errgroup.Group
	for _, c := range changes {
		group.Go(func() error { return r.Entries.Add(ctx, auditEntry(r.Catalog.ID(), c, bus.Origin(ctx))) })
	}
	return group.Wait()
}

// putRecords registers each record as putRecord does. The records are stored concurrently
// and become searchable together.
func (r handlers) putRecords(ctx context.Context, req schemas.PutRecords) (schemas.RecordResults, error) {
	b := bulk{handlers: r, results: make([]schemas.RecordResult, len(req.Records))}
	b.read(ctx, req)
	if err := b.check(ctx); err != nil {
		return schemas.RecordResults{}, err
	}
	b.store(ctx)
	newest, err := b.confirm(ctx)
	return schemas.RecordResults{Results: b.results, Newest: newest}, err
}

func (r handlers) health(ctx context.Context) (schemas.Health, error) {
	h := schemas.Health{Service: "register", Status: schemas.StatusOK, Version: bus.Version}
	ctx, cancel := context.WithTimeout(ctx, catalogHealthTimeout)
	defer cancel()
	revision, err := r.Catalog.Revision(ctx)
	if err != nil {
		h.Status = schemas.StatusDown
		writes, _ := r.StorageWarnings(ctx)
		h.Degraded = append(writes, "catalog unavailable: "+err.Error())
		return h, nil
	}
	h.Catalog, h.Revision = r.Catalog.ID(), revision
	r.searchHealth(ctx, &h)
	r.storageHealth(ctx, &h)
	if len(h.Degraded) > 0 {
		h.Status = schemas.StatusDegraded
	}
	return h, nil
}

// searchHealth reports whether registered records are searchable.
func (r handlers) searchHealth(ctx context.Context, h *schemas.Health) {
	if r.Projector != nil {
		ctx, cancel := context.WithTimeout(ctx, healthTimeout)
		defer cancel()
		h.Index, h.Degraded = r.Projector.Status(ctx)
		return
	}
	if err := r.WaitVisible(ctx, h.Revision); err != nil {
		h.Degraded = []string{"new records are not searchable yet: " + err.Error()}
	}
}

// storageHealth reports buckets that store no messages or are nearly full.
func (r handlers) storageHealth(ctx context.Context, h *schemas.Health) {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	full, err := r.StorageWarnings(ctx)
	if err != nil {
		full = append(full, err.Error())
	}
	h.Degraded = append(h.Degraded, full...)
}

// reindex fills a new index generation with all records. The embedded index does
// not support it, because each start rebuilds it.
func (r handlers) reindex(ctx context.Context, _ schemas.Nothing) (schemas.Reindexed, error) {
	if r.Projector == nil {
		return schemas.Reindexed{}, schemas.ErrNotImplemented.Because(
			"the embedded index is rebuilt whenever a resolve worker starts; a reindex needs a shared index")
	}
	reindexed, err := r.Projector.Reindex(ctx)
	if err == nil {
		err = r.Entries.Add(ctx, schemas.AuditEntry{Action: schemas.ActionReindex, Origin: bus.Origin(ctx)})
	}
	return reindexed, err
}

func (r handlers) skill(ctx context.Context, req schemas.RegisterSkill) (schemas.SkillRegistered, error) {
	id, registered, err := r.register(ctx, req)
	return schemas.SkillRegistered{SkillID: id, Registered: registered}, err
}

func (r handlers) agent(ctx context.Context, req schemas.RegisterAgent) (schemas.AgentRegistered, error) {
	id, registered, err := r.register(ctx, req)
	return schemas.AgentRegistered{AgentID: id, Registered: registered}, err
}

func (r handlers) tool(ctx context.Context, req schemas.RegisterTool) (schemas.ToolRegistered, error) {
	id, registered, err := r.register(ctx, req)
	return schemas.ToolRegistered{ToolID: id, Registered: registered}, err
}

func (r handlers) contextBuilder(ctx context.Context,
	req schemas.RegisterContextBuilder) (schemas.ContextBuilderRegistered, error) {
	id, registered, err := r.register(ctx, req)
	return schemas.ContextBuilderRegistered{ContextBuilderID: id, Registered: registered}, err
}

func (r handlers) guardrail(ctx context.Context, req schemas.RegisterGuardrail) (schemas.GuardrailRegistered, error) {
	id, registered, err := r.register(ctx, req)
	return schemas.GuardrailRegistered{GuardrailID: id, Registered: registered}, err
}

func (r handlers) template(ctx context.Context, req schemas.RegisterTemplate) (schemas.TemplateRegistered, error) {
	id, registered, err := r.register(ctx, req)
	return schemas.TemplateRegistered{TemplateID: id, Registered: registered}, err
}

// register stores the record of a registration, such as a schemas.RegisterSkill.
func (r handlers) register(ctx context.Context,
	registration any) (id string, registered schemas.Registered, err error) {
	e, err := entryOf(registration)
	if err != nil {
		return "", registered, err
	}
	if e.strict || e.warns {
		registered, err = r.checkAndPut(ctx, e)
	} else { // the reply of the contract has no warnings
		registered, err = r.putAndConfirm(ctx, e)
	}
	if !e.warns {
		registered.Warnings = nil
	}
	return e.key.ID, registered, err
}

// putRecord registers the record as the endpoint of its kind does.
func (r handlers) putRecord(ctx context.Context, req schemas.PutRecord) (schemas.RecordStored, error) {
	e, err := putEntry(req)
	if err != nil {
		return schemas.RecordStored{}, err
	}
	registered, err := r.checkAndPut(ctx, e)
	return schemas.RecordStored{Kind: req.Kind, ID: req.ID, Registered: registered}, err
}

// checkAndPut stores the record if its warnings permit it.
func (r handlers) checkAndPut(ctx context.Context, e entry) (schemas.Registered, error) {
	warnings, err := r.warnings(ctx, []entry{e})
	if err != nil {
		return schemas.Registered{}, err
	}
	if err := r.permit(ctx, e, warnings[0]); err != nil {
		return schemas.Registered{}, err
	}
	registered, err := r.putAndConfirm(ctx, e)
	registered.Warnings = warnings[0]
	return registered, err
}

// permit returns the error of a strict entry with warnings, unless an earlier attempt of the request has
// stored its record.
func (r handlers) permit(ctx context.Context, e entry, warnings []schemas.FieldError) error {
	refused := e.permits(warnings)
	if refused == nil {
		return nil
	}
	return bucket.WithReplyMargin(ctx, "catalog", func(ctx context.Context) error {
		if w, err := r.Catalog.Stored(ctx, e.key); err != nil || w.Revision > 0 {
			return err
		}
		return refused
	})
}

// warnings returns the probable mistakes of each record: those of schemas.Warnings, and dangling
// references. A reference is not dangling if the tenant or the global scope has the record, or if the
// list has it and does not reject it because of the warnings of schemas.Warnings.
func (r handlers) warnings(ctx context.Context, list []entry) ([][]schemas.FieldError, error) {
	warnings, references := make([][]schemas.FieldError, len(list)), make([][]schemas.Reference, len(list))
	absent, listed := map[catalog.Key]bool{}, map[catalog.Key]bool{}
	for i, e := range list {
		var err error
		if warnings[i], err = schemas.Warnings(e.key.Kind, e.received); err != nil {
			return nil, err
		}
		if references[i], err = schemas.References(e.key.Kind, e.record); err != nil {
			return nil, err
		}
		references[i] = references[i][:min(len(references[i]), maxChecked)]
		for _, to := range references[i] {
			absent[e.keyOf(to)] = true
		}
		listed[e.key] = !e.strict || len(warnings[i]) == 0
	}
	if err := r.markExisting(ctx, absent, list); err != nil {
		return nil, fmt.Errorf("look up references: %w", err)
	}
	for i, e := range list {
		for _, to := range references[i] {
			_, stored := scope.Scope(e.key.Tenant).First(func(tenant string) bool {
				return listed[catalog.Key{Kind: to.Kind, Tenant: tenant, ID: to.ID}]
			})
			if absent[e.keyOf(to)] && !stored {
				message := fmt.Sprintf("no %s %q is registered; register it, or correct the reference", to.Kind, to.ID)
				warnings[i] = append(warnings[i], schemas.FieldError{Field: to.Field, Message: message})
			}
		}
		for n := range warnings[i] {
			warnings[i][n].Field = e.path(warnings[i][n].Field)
		}
		warnings[i] = schemas.ErrInvalidRegistration.With(warnings[i]...).Fields // limits their number and length
	}
	return warnings, nil
}

// markExisting sets absent to false for each key whose record exists in the scope of its tenant or in
// the global one. It does not look up records of the list that are certain to be stored.
func (r handlers) markExisting(ctx context.Context, absent map[catalog.Key]bool, list []entry) error {
	certain := map[catalog.Key]bool{}
	for _, e := range list {
		certain[e.key] = !e.strict
	}
	keys := slices.DeleteFunc(slices.Collect(maps.Keys(absent)), func(k catalog.Key) bool { return certain[k] })
	missing := make([]bool, len(keys))
	err := bucket.WithReplyMargin(ctx, "catalog", func(ctx context.Context) error {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(maxLookups)
		for i, key := range keys {
			group.Go(func() (err error) {
				missing[i], err = r.missing(ctx, key)
				return err
			})
		}
		return group.Wait()
	})
	for i, key := range keys {
		absent[key] = missing[i]
	}
	return err
}

// missing reports whether neither the tenant of the key nor the global scope has a record
// with its id in the catalog.
func (r handlers) missing(ctx context.Context, key catalog.Key) (bool, error) {
	for _, tenant := range scope.Scope(key.Tenant).Tenants() {
		key.Tenant = tenant
		switch _, err := r.Catalog.Get(ctx, key); {
		case err == nil:
			return false, nil
		case !errors.Is(err, catalog.ErrNotFound) && !errors.Is(err, catalog.ErrBadKey):
			return false, err
		}
	}
	return true, nil
}

// keyError returns ErrInvalidRegistration for an invalid key: an id within the
// limit of characters may exceed the limit of a key in bytes.
func keyError(err error, attempted, field string, key catalog.Key) error {
	if errors.Is(err, catalog.ErrBadKey) {
		return schemas.ErrInvalidRegistration.With(schemas.FieldError{Field: field, Message: err.Error()})
	}
	return fmt.Errorf("%s %s %q: %w", attempted, key.Kind, key.ID, err)
}

func keyOf(kind string, tenant *string, id string) catalog.Key {
	return catalog.Key{Kind: kind, Tenant: schemas.ValueOr(tenant, ""), ID: id}
}

const (
	// catalogHealthTimeout bounds the health check of the catalog and of an embedded index.
	catalogHealthTimeout = 2 * time.Second
	// healthTimeout bounds the health checks of the other backends.
	healthTimeout = 650 * time.Millisecond
)
