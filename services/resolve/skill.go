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

// packageOf returns the encoded skill package.
func (r *Resolver) packageOf(ctx context.Context, q schemas.SkillQuery) (body jsontext.Value, err error) {
	if err := r.current(ctx); err != nil {
		return nil, err
	}
	this := wanted{scope.Scope(q.Tenant()), q.SkillID, q.Explain}
	if body, ok := r.packed.get(this); ok {
		return body, nil
	}
	err = r.ofSkill(ctx, q.QueryOptions, q.SkillID, func(s resolvedSkill) error {
		if body, err = json.Marshal(s.enriched(), json.Deterministic(true)); err == nil {
			r.packed.put(this, body)
		}
		return err
	})
	return body, err
}

func (r *Resolver) context(ctx context.Context, q schemas.ContextQuery) (a schemas.ContextAnswer, err error) {
	err = r.ofSkill(ctx, q.QueryOptions, q.SkillID, func(s resolvedSkill) error {
		builders := slices.DeleteFunc(s.builders(), func(b graph.Reach) bool {
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
	err = r.ofSkill(ctx, q.QueryOptions, q.SkillID, func(s resolvedSkill) error {
		t, ok := s.template()
		if !ok {
			return schemas.ErrTemplateNotFound.Because(fmt.Sprintf("the skill %q has no template in %s", q.SkillID, scope.Scope(q.Tenant())))
		}
		a.Template = s.records([]graph.Reach{t})[0]
		a.Explain = s.why.list
		return nil
	})
	return a, err
}

func (r *Resolver) guardrail(ctx context.Context, q schemas.SkillRef) (a schemas.GuardrailAnswer, err error) {
	err = r.ofSkill(ctx, q.QueryOptions, q.SkillID, func(s resolvedSkill) error {
		a.Guardrails = s.records(s.guardrails())
		a.Explain = s.why.list
		return nil
	})
	return a, err
}

// ofSkill calls answer with the skill of the id in the request's scope, regardless
// of its status, while holding mu for reading.
func (r *Resolver) ofSkill(ctx context.Context, who schemas.QueryOptions, id string, answer func(resolvedSkill) error) error {
	if err := r.current(ctx); err != nil {
		return err
	}
	s := scope.Scope(who.Tenant())
	if err := r.find(ctx, schemas.KindSkill, s, id); err != nil {
		return err
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	node, ok := r.reader.Find(schemas.KindSkill, s, id)
	if !ok {
		return schemas.ErrSkillNotFound.Because(fmt.Sprintf("no skill %q in %s", id, s))
	}
	return answer(resolvedSkill{r, s, node, &reasons{wanted: who.Explain}})
}
