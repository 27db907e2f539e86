package resolve

import (
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas"
	"cairn/services/internal/graph"
	"cairn/services/internal/scope"
)

// maxPackageBytes bounds the total size of cached packages, in bytes.
const maxPackageBytes = 32 << 20

// packageKey is the key of a cached package.
type packageKey struct {
	scope   scope.Scope
	skill   string
	explain bool
}

// packages caches encoded skill packages until the catalog changes.
type packages struct {
	mu      sync.Mutex
	size    int
	entries map[packageKey]jsontext.Value
}

func (p *packages) get(key packageKey) (jsontext.Value, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	body, ok := p.entries[key]
	return body, ok
}

// put caches body. When the cache is full, it removes all other packages.
func (p *packages) put(key packageKey, body jsontext.Value) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.size += len(body); p.entries == nil || p.size > maxPackageBytes {
		p.entries, p.size = map[packageKey]jsontext.Value{}, len(body)
	}
	p.entries[key] = body
}

// reset empties the cache. The caller holds the resolver's mu for writing, so
// that no outdated package is cached afterwards.
func (p *packages) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.entries, p.size = nil, 0
}

// enriched returns the skill with its context builders, guardrails, tools and template.
func (s resolvedSkill) enriched() *schemas.SkillPackage {
	p := &schemas.SkillPackage{SkillID: s.skill.ID, Manifest: s.manifest, Template: jsontext.Value(`{}`)}
	s.why.add(s.skill, "skill_id")
	builders := s.builders()
	p.ContextBuilders = s.records(builders)
	p.Guardrails = s.records(s.guardrails())
	p.Tools = s.records(s.tools(builders))
	if t, ok := s.template(); ok {
		p.Template = s.records([]graph.LinkedRecord{t})[0]
	}
	p.Explain = s.why.list
	return p
}
