package resolve

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas"
	"cairn/services/internal/graph"
	"cairn/services/internal/scope"
)

// skill answers both forms of the request.
func (r *Resolver) skill(ctx context.Context, q schemas.SkillQuery) (schemas.SkillAnswer, error) {
	if q.SkillID == "" {
		hits, err := r.searchSkills(ctx, q)
		return schemas.SkillAnswer{Hits: hits}, err
	}
	body, err := r.packageOf(ctx, q)
	return schemas.SkillAnswer{Written: body}, err
}

func (r *Resolver) encodedPackage(ctx context.Context, q schemas.SkillRef) (schemas.EncodedPackage, error) {
	body, err := r.packageOf(ctx, schemas.SkillQuery{SkillID: q.SkillID, QueryOptions: q.QueryOptions})
	return schemas.EncodedPackage{Written: body}, err
}

// packageOf returns the encoded skill package.
func (r *Resolver) packageOf(ctx context.Context, q schemas.SkillQuery) (body jsontext.Value, err error) {
	if err := r.waitMinRevision(ctx); err != nil {
		return nil, err
	}
	key := packageKey{scope.Scope(q.Tenant()), q.SkillID, q.Explain}
	if body, ok := r.packages.get(key); ok {
		return body, nil
	}
	err = r.withSkill(ctx, q.QueryOptions, q.SkillID, func(s resolvedSkill) error {
		if body, err = json.Marshal(s.enriched(), json.Deterministic(true)); err == nil {
			r.packages.put(key, body)
		}
		return err
	})
	return body, err
}

func (r *Resolver) context(ctx context.Context, q schemas.ContextQuery) (a schemas.ContextAnswer, err error) {
	err = r.withSkill(ctx, q.QueryOptions, q.SkillID, func(s resolvedSkill) error {
		builders := slices.DeleteFunc(s.builders(), func(b graph.LinkedRecord) bool {
			return len(q.ContextTypes) > 0 && !slices.Contains(q.ContextTypes, r.factsOf(b.Node).contextType)
		})
		if len(builders) == 0 {
			return schemas.ErrContextBuilderNotFound.Because(missingBuilders(q))
		}
		a.ContextBuilders = s.records(builders)
		a.Explain = s.why.list
		return nil
	})
	return a, err
}

func missingBuilders(q schemas.ContextQuery) string {
	if len(q.ContextTypes) == 0 {
		return fmt.Sprintf("the skill %q has no context builder in %s", q.SkillID, scope.Scope(q.Tenant()))
	}
	return fmt.Sprintf("the skill %q has no context builder of the context_types %q in %s", q.SkillID, q.ContextTypes, scope.Scope(q.Tenant()))
}

func (r *Resolver) template(ctx context.Context, q schemas.SkillRef) (a schemas.TemplateAnswer, err error) {
	err = r.withSkill(ctx, q.QueryOptions, q.SkillID, func(s resolvedSkill) error {
		t, ok := s.template()
		if !ok {
			return schemas.ErrTemplateNotFound.Because(fmt.Sprintf("the skill %q has no template in %s", q.SkillID, scope.Scope(q.Tenant())))
		}
		a.Template = s.records([]graph.LinkedRecord{t})[0]
		a.Explain = s.why.list
		return nil
	})
	return a, err
}

func (r *Resolver) guardrail(ctx context.Context, q schemas.SkillRef) (a schemas.GuardrailAnswer, err error) {
	err = r.withSkill(ctx, q.QueryOptions, q.SkillID, func(s resolvedSkill) error {
		a.Guardrails = s.records(s.guardrails())
		a.Explain = s.why.list
		return nil
	})
	return a, err
}

// withSkill calls answer with the skill of the id in the request's scope, regardless
// of its status, while holding mu for reading.
func (r *Resolver) withSkill(ctx context.Context, options schemas.QueryOptions, id string, answer func(resolvedSkill) error) error {
	if err := r.waitMinRevision(ctx); err != nil {
		return err
	}
	s := scope.Scope(options.Tenant())
	if err := r.awaitAbsent(ctx, schemas.KindSkill, s, id); err != nil {
		return err
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	node, ok := r.named(schemas.KindSkill, s, id)
	if !ok {
		return schemas.ErrSkillNotFound.Because(fmt.Sprintf("no skill %q in %s", id, s))
	}
	return answer(resolvedSkill{r, s, node, &reasons{wanted: options.Explain}})
}
