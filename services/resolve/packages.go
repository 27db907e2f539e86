package resolve

import (
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas"
	"cairn/services/internal/graph"
)

// mostPackages is what the packages kept may take together, in bytes.
const mostPackages = 32 << 20

// wanted names an answer about a skill.
type wanted struct {
	tenant, skill string
	explain       bool
}

// packages keeps the enriched packages that were asked for, as JSON, until the
// catalog changes: the same few skills are asked for again and again.
type packages struct {
	mu   sync.Mutex
	size int
	kept map[wanted]jsontext.Value
}

func (p *packages) get(w wanted) (jsontext.Value, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	body, ok := p.kept[w]
	return body, ok
}

// put keeps body; when there is no more room, it alone.
func (p *packages) put(w wanted, body jsontext.Value) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.size += len(body); p.kept == nil || p.size > mostPackages {
		p.kept, p.size = map[wanted]jsontext.Value{}, len(body)
	}
	p.kept[w] = body
}

// forget keeps nothing. The caller holds the resolver's mu for writing, so that
// nothing of before is put afterwards.
func (p *packages) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept, p.size = nil, 0
}

// enriched is the skill with all that serves it.
func (s asked) enriched() *schemas.SkillPackage {
	p := &schemas.SkillPackage{SkillID: s.skill.ID, Manifest: s.record(s.skill), Template: jsontext.Value(`{}`)}
	s.why.add(s.skill, "skill_id")
	builders := s.builders()
	p.ContextBuilders = s.records(builders)
	p.Guardrails = s.records(s.guardrails())
	p.Tools = s.records(s.tools(builders))
	if t, ok := s.template(); ok {
		p.Template = s.records([]graph.Reach{t})[0]
	}
	p.Explain = s.why.list
	return p
}
