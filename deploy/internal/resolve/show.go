package resolve

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/deploy/internal/output"
	"cairn/schemas"
)

// part contains the printed fields of a record of any kind.
type part struct {
	SkillID          string   `json:"skill_id"`
	ContextBuilderID string   `json:"context_builder_id"`
	GuardrailID      string   `json:"guardrail_id"`
	TemplateID       string   `json:"template_id"`
	ToolID           string   `json:"tool_id"`
	ContextType      string   `json:"context_type"`
	ToolClass        string   `json:"tool_class"`
	DisplayName      string   `json:"display_name"`
	Purpose          string   `json:"purpose"`
	Description      string   `json:"description"`
	Instructions     string   `json:"instructions"`
	ToolIDs          []string `json:"tool_ids"`
	Score            float64  `json:"score"`
}

// id returns the ID of the part; a skill's own ID precedes that of its template.
func (p part) id() string {
	return cmp.Or(p.SkillID, p.ContextBuilderID, p.GuardrailID, p.ToolID, p.TemplateID)
}

// about returns a one-line description of the part.
func (p part) about() string {
	text := cmp.Or(p.Purpose, p.Description, p.Instructions, p.DisplayName)
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// reasons maps the kind and ID of a record to its explanation.
type reasons map[string]schemas.Explanation

func reasonsOf(e schemas.Explained) reasons {
	r := reasons{}
	for _, why := range e.Explain {
		r[why.Kind+" "+why.ID] = why
	}
	return r
}

// of returns the explanation of a record, or an empty string without --explain.
func (r reasons) of(kind, id string) string {
	why, ok := r[kind+" "+id]
	if !ok {
		return ""
	}
	text := why.Scope + ", via " + why.Via
	if why.TextRank > 0 {
		text += fmt.Sprintf(", text rank %d", why.TextRank)
	}
	if why.VectorRank > 0 {
		text += fmt.Sprintf(", vector rank %d", why.VectorRank)
	}
	return "[" + text + "]"
}

// parts parses records; a malformed record results in an empty part.
func parts(values ...jsontext.Value) []part {
	list := make([]part, len(values))
	for i, v := range values {
		_ = json.Unmarshal(v, &list[i]) // fields of another type are ignored
	}
	return list
}

// showHits prints the hits of a search.
func showHits(out io.Writer, body []byte) error {
	var hits schemas.SkillHits
	if err := json.Unmarshal(body, &hits); err != nil {
		return err
	}
	why := reasonsOf(hits.Explained)
	t := output.NewTable(out)
	t.Row("SCORE", "SKILL", "PURPOSE")
	for _, p := range parts(hits.Skills...) {
		t.Row(fmt.Sprintf("%.3f", p.Score), p.id(), output.Joined(p.about(), why.of(schemas.KindSkill, p.id())))
	}
	if hits.Degraded != "" {
		t.Row("degraded: " + hits.Degraded)
	}
	return t.Write()
}

// showPackage prints the package of a skill as a tree.
func showPackage(out io.Writer, body []byte) error {
	var p schemas.SkillPackage
	if err := json.Unmarshal(body, &p); err != nil {
		return err
	}
	skill := parts(p.Manifest)[0]
	t := &tree{output.NewTable(out), reasonsOf(p.Explained)}
	t.Row(output.Joined(p.SkillID, t.why.of(schemas.KindSkill, p.SkillID)))
	t.Row("  " + skill.about())
	template := parts(p.Template)
	if template[0].id() == "" {
		template = nil
	}
	t.branch("context builders", schemas.KindContextBuilder, parts(p.ContextBuilders...))
	t.branch("tools", schemas.KindTool, parts(p.Tools...))
	t.branch("guardrails", schemas.KindGuardrail, parts(p.Guardrails...))
	t.branch("template", schemas.KindTemplate, template)
	return t.Write()
}

// showAgent prints an agent.
func showAgent(out io.Writer, body []byte) error {
	var a schemas.AgentAnswer
	if err := json.Unmarshal(body, &a); err != nil {
		return err
	}
	t := output.NewTable(out)
	t.Row(output.Joined(a.AgentID, reasonsOf(a.Explained).of(schemas.KindAgent, a.AgentID)))
	t.Row("  score", fmt.Sprintf("%.3f", a.Score))
	for i, c := range a.Capabilities {
		t.Row("  "+first(i, "capabilities"), c)
	}
	for i, id := range a.OwnedSkillIDs {
		t.Row("  "+first(i, "owns"), id)
	}
	return t.Write()
}

// showTools prints tools.
func showTools(out io.Writer, body []byte) error {
	var a schemas.ToolsAnswer
	if err := json.Unmarshal(body, &a); err != nil {
		return err
	}
	why := reasonsOf(a.Explained)
	t := output.NewTable(out)
	t.Row("TOOL", "CLASS", "DESCRIPTION")
	for _, p := range parts(a.Tools...) {
		t.Row(p.ToolID, p.ToolClass, output.Joined(p.about(), why.of(schemas.KindTool, p.ToolID)))
	}
	return t.Write()
}

// tree prints a skill and its parts as an indented table.
type tree struct {
	*output.Table
	why reasons
}

// branch writes the records of a kind.
func (t *tree) branch(title, kind string, list []part) {
	t.Row("  "+title, first(len(list), "none"))
	for i, p := range list {
		stem := "  ├─ "
		if i == len(list)-1 {
			stem = "  └─ "
		}
		remark := p.about()
		if kind == schemas.KindContextBuilder && len(p.ToolIDs) > 0 {
			remark = output.Joined(remark, "→ "+strings.Join(p.ToolIDs, ", "))
		}
		t.Row(stem+p.id(), output.Joined(cmp.Or(p.ContextType, p.ToolClass), remark, t.why.of(kind, p.id())))
	}
}

// first returns text for index 0 and an empty string otherwise.
func first(i int, text string) string {
	if i == 0 {
		return text
	}
	return ""
}
