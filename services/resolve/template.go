package resolve

import (
	"context"
	"fmt"

	"cairn/schemas"
	"cairn/services/internal/scope"
	"cairn/services/internal/usage"
)

// resolveTemplate returns a template, rendered if the request has variables.
func resolveTemplate(ctx context.Context, r *Resolver, q schemas.TemplateQuery) (a schemas.TemplateAnswer, err error) {
	if q.TemplateID != "" {
		a, err = templateByID(ctx, r, q)
	} else {
		a, err = templateOfSkill(ctx, r, q)
	}
	if err != nil || q.Variables == nil {
		return a, err
	}
	t, err := schemas.DecodeStored[schemas.Template](schemas.KindTemplate, a.Template)
	if err != nil {
		return a, err
	}
	text, err := t.Render(q.Variables)
	a.Text = &text
	return a, err
}

func templateByID(ctx context.Context, r *Resolver, q schemas.TemplateQuery) (a schemas.TemplateAnswer, err error) {
	if err := r.waitMinRevision(ctx); err != nil {
		return a, err
	}
	s := scope.Scope(q.Tenant())
	if err := r.waitAbsent(ctx, schemas.KindTemplate, s, q.TemplateID); err != nil {
		return a, err
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	n, ok := r.findByID(schemas.KindTemplate, s, q.TemplateID)
	if !ok {
		return a, schemas.ErrTemplateNotFound.Because(fmt.Sprintf("no template %q in %s", q.TemplateID, s))
	}
	why := reasons{wanted: q.Explain}
	a.Template = r.record(n)
	why.add(n, "template_id", a.Template)
	a.Explain = why.list
	r.deps.Usage.Add(usage.NewUses(q.Tenant(), usage.Resolved, why.records...))
	return a, nil
}

func templateOfSkill(ctx context.Context, r *Resolver, q schemas.TemplateQuery) (a schemas.TemplateAnswer, err error) {
	s, err := openSkill(ctx, r, q.QueryOptions, q.SkillID)
	if err != nil {
		return a, err
	}
	defer s.close()
	template, err := s.records(ctx, s.template(ctx))
	if err != nil {
		return a, err
	}
	if len(template) == 0 {
		return a, schemas.ErrTemplateNotFound.Because(fmt.Sprintf("the skill %q has no template in %s", q.SkillID, s.scope))
	}
	a.Template, a.Explain = template[0], s.why.list
	return a, s.finish(ctx)
}
