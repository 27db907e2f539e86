package resolve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/graph"
	"cairn/services/internal/scope"
	"cairn/services/internal/usage"
)

// resolveSkill answers both forms of the request.
func resolveSkill(ctx context.Context, r *Resolver, q schemas.SkillQuery) (schemas.SkillAnswer, error) {
	if q.SkillID == "" {
		hits, err := searchSkills(ctx, r, q)
		return schemas.SkillAnswer{Hits: hits}, err
	}
	body, err := encodePackage(ctx, r, q)
	return schemas.SkillAnswer{Written: body}, err
}

func resolvePackage(ctx context.Context, r *Resolver, q schemas.SkillRef) (schemas.EncodedPackage, error) {
	body, err := encodePackage(ctx, r, schemas.SkillQuery{SkillID: q.SkillID, QueryOptions: q.QueryOptions})
	return schemas.EncodedPackage{Written: body}, err
}

// encodePackage returns the encoded skill package.
func encodePackage(ctx context.Context, r *Resolver, q schemas.SkillQuery) (body jsontext.Value, err error) {
	if err := r.waitMinRevision(ctx); err != nil {
		return nil, err
	}
	key := packageKey{scope.Scope(q.Tenant()), q.SkillID, q.Explain}
	if entry, ok := r.packages.get(key); ok {
		r.deps.Usage.Add(entry.uses)
		return entry.body, nil
	}
	resets := r.packages.resetCount() // before the records are read
	p, uses, err := readPackage(ctx, r, q)
	if err != nil {
		return nil, err
	}
	if body, err = json.Marshal(p, json.Deterministic(true)); err == nil && uses != nil {
		r.packages.put(key, encodedPackage{body, uses}, resets)
	}
	return body, err
}

// readPackage returns the skill package, and the uses of its records; nil for an earlier version, which is not cached.
// An alias is cached: writes of aliases reset the cache.
func readPackage(ctx context.Context, r *Resolver,
	q schemas.SkillQuery) (p *schemas.SkillPackage, uses usage.Uses, err error) {
	s, err := openSkill(ctx, r, q.QueryOptions, q.SkillID)
	if err != nil {
		return nil, nil, err
	}
	defer s.close()
	if p, err = s.enriched(ctx); err != nil {
		return nil, nil, err
	}
	if v, _ := parseVersion(q.SkillID); s.reader.Earlier == nil || schemas.ValidAlias(v.version) {
		uses = usage.NewUses(q.Tenant(), usage.Resolved, s.why.records...)
	}
	return p, uses, s.finish(ctx)
}

func resolveContext(ctx context.Context, r *Resolver, q schemas.ContextQuery) (a schemas.ContextAnswer, err error) {
	s, err := openSkill(ctx, r, q.QueryOptions, q.SkillID)
	if err != nil {
		return a, err
	}
	defer s.close()
	builders := slices.DeleteFunc(s.builders(ctx), func(b graph.LinkedRecord) bool {
		return len(q.ContextTypes) > 0 && !slices.Contains(q.ContextTypes, r.factsOf(b.Node).contextType)
	})
	if a.ContextBuilders, err = s.records(ctx, builders); err != nil {
		return a, err
	}
	if len(builders) == 0 {
		return a, schemas.ErrContextBuilderNotFound.Because(missingBuilders(q))
	}
	a.Explain = s.why.list
	return a, s.finish(ctx)
}

func missingBuilders(q schemas.ContextQuery) string {
	if len(q.ContextTypes) == 0 {
		return fmt.Sprintf("the skill %q has no context builder in %s", q.SkillID, scope.Scope(q.Tenant()))
	}
	return fmt.Sprintf("the skill %q has no context builder of the context_types %q in %s", q.SkillID, q.ContextTypes,
		scope.Scope(q.Tenant()))
}

func resolveGuardrail(ctx context.Context, r *Resolver, q schemas.SkillRef) (a schemas.GuardrailAnswer, err error) {
	s, err := openSkill(ctx, r, q.QueryOptions, q.SkillID)
	if err != nil {
		return a, err
	}
	defer s.close()
	if a.Guardrails, err = s.records(ctx, s.guardrails(ctx)); err != nil {
		return a, err
	}
	a.Explain = s.why.list
	return a, s.finish(ctx)
}

// openSkill returns the skill of the id in the request's scope, regardless of its status, with mu held for reading
// until the caller closes it. If no skill has the id, and it has the form id@version or id@alias, openSkill returns
// that version of the skill.
func openSkill(ctx context.Context, r *Resolver, options schemas.QueryOptions, id string) (s resolvedSkill, err error) {
	if err := r.waitMinRevision(ctx); err != nil {
		return s, err
	}
	requested := scope.Scope(options.Tenant())
	if err := r.waitAbsent(ctx, schemas.KindSkill, requested, id); err != nil {
		return s, err
	}
	why := &reasons{wanted: options.Explain}
	r.mu.RLock()
	reader := r.reader
	if node, exists := r.findByID(schemas.KindSkill, requested, id); exists {
		return resolvedSkill{r, &reader, requested, node, r.record(node), r.factsOf(node).domain, why}, nil
	}
	r.mu.RUnlock()
	requestedVersion, ok := parseVersion(id)
	if !ok {
		return s, schemas.ErrSkillNotFound.Because(fmt.Sprintf("no skill %q in %s", id, requested))
	}
	earlier, err := readVersion(ctx, r, options, requestedVersion)
	if err != nil {
		return s, err
	}
	r.mu.RLock()
	node := nodeOf(earlier.key)
	reader.Earlier = &graph.Revision{Node: node, Edges: earlier.edges}
	return resolvedSkill{r, &reader, requested, node, earlier.record, earlier.facts.domain, why}, nil
}

// version identifies a version of a record, by a semantic version or an alias.
type version struct{ record, version string }

// parseVersion parses an id of the form id@version or id@alias.
func parseVersion(id string) (v version, ok bool) {
	separator := strings.LastIndexByte(id, '@')
	if separator <= 0 || separator == len(id)-1 {
		return v, false
	}
	return version{id[:separator], id[separator+1:]}, true
}

// earlierSkill is an earlier revision of a skill.
type earlierSkill struct {
	key catalog.Key
	decoded
}

// readVersion returns the revision of the skill that has the alias, or else the newest one with the version that the
// history retains. A skill of the tenant shadows all versions of a global one with its id.
func readVersion(ctx context.Context, r *Resolver, options schemas.QueryOptions, v version) (earlierSkill, error) {
	skill := schemas.RecordKey{Kind: schemas.KindSkill, ID: v.record, TenantID: options.TenantID}
	r.mu.RLock()
	newest, exists := r.findByID(schemas.KindSkill, scope.Scope(options.Tenant()), v.record)
	r.mu.RUnlock()
	if exists && keyOf(newest).Tenant == scope.Global {
		skill.Scope = schemas.ScopeGlobal
	}
	earlier, err := inScope(ctx, r, skill, func(ctx context.Context, key catalog.Key) (earlierSkill, error) {
		list, err := r.deps.Catalog.Versions(ctx, key, v.version)
		if err != nil {
			return earlierSkill{}, err
		}
		record, err := firstReadable(list, key, v.version)
		return earlierSkill{key, record}, err
	})
	if errors.Is(err, schemas.ErrRecordNotFound) {
		err = schemas.ErrSkillNotFound.Because(fmt.Sprintf("no skill %q in %s", v.record, scope.Scope(options.Tenant())))
	}
	return earlier, err
}

// firstReadable returns the first of the revisions that can be decoded. Unreadable ones are treated as absent, as in
// the view.
func firstReadable(list []catalog.Version, key catalog.Key, version string) (decoded, error) {
	for _, v := range list {
		if record, err := decode(catalog.Change{Key: key, Record: v.Record, Revision: v.Token.Revision}); err == nil {
			return record, nil
		}
	}
	return decoded{}, schemas.ErrSkillNotFound.Because(
		fmt.Sprintf("the skill %q has no alias %[2]q, and its history no version %[2]q", key.ID, version))
}
