package records

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"cairn/deploy/internal/output"
	"cairn/schemas"
)

// Reasons maps records to their explanations.
type Reasons map[recordKey]schemas.Explanation

// recordKey names a record of a response: a package has guardrails of both scopes with the same id.
type recordKey struct{ kind, id, scope string }

// ReasonsOf returns the explanations of a response.
func ReasonsOf(e schemas.Explained) Reasons {
	r := Reasons{}
	for _, why := range e.Explain {
		r[recordKey{why.Kind, why.ID, why.Scope}] = why
	}
	return r
}

// Explanation returns the explanation of a record, or an empty string without --explain.
func (r Reasons) Explanation(kind string, s Summary) string {
	why, ok := r[recordKey{kind, s.ID(), schemas.ScopeOf(s.TenantID)}]
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

// WritePackage prints the package of a skill as a tree.
func WritePackage(out io.Writer, p schemas.SkillPackage) {
	t := output.NewTable(out)
	skill := Summaries(p.Manifest)[0]
	t.Row(output.Joined(p.SkillID, ReasonsOf(p.Explained).Explanation(schemas.KindSkill, skill)))
	t.Row("  " + skill.About())
	t.Write()
	WriteParts(out, p)
}

// WriteParts prints the records that are linked to a skill.
func WriteParts(out io.Writer, p schemas.SkillPackage) {
	t := output.NewTable(out)
	why := ReasonsOf(p.Explained)
	for _, part := range partsOf(p) {
		none := ""
		if len(part.list) == 0 {
			none = "none"
		}
		t.Row("  "+part.title, none)
		for i, s := range part.list {
			stem := "  ├─ "
			if i == len(part.list)-1 {
				stem = "  └─ "
			}
			remark := s.About()
			if part.kind == schemas.KindContextBuilder && len(s.ToolIDs) > 0 {
				remark = output.Joined(remark, "→ "+strings.Join(s.ToolIDs, ", "))
			}
			source := why.Explanation(part.kind, s)
			if source == "" && part.kind == schemas.KindGuardrail { // those of both scopes apply
				source = "[" + schemas.ScopeOf(s.TenantID) + "]"
			}
			t.Row(stem+s.ID(), output.Joined(cmp.Or(s.ContextType, s.ToolClass), remark, source))
		}
	}
	for _, m := range p.Missing {
		t.Row("  missing", output.Joined(m.Kind+"/"+m.ID, "[via "+m.Via+"]"))
	}
	t.Write()
}

// PackageNames returns KIND/ID of a skill and of each record that is linked to it.
func PackageNames(p schemas.SkillPackage) []string {
	names := []string{schemas.KindSkill + "/" + p.SkillID}
	for _, part := range partsOf(p) {
		names = append(names, Names(part.kind, part.list)...)
	}
	return names
}

// part has the records of one kind in a package.
type part struct {
	title, kind string
	list        []Summary
}

func partsOf(p schemas.SkillPackage) []part {
	template := Summaries(p.Template)
	if template[0].ID() == "" {
		template = nil
	}
	return []part{
		{"context builders", schemas.KindContextBuilder, Summaries(p.ContextBuilders...)},
		{"tools", schemas.KindTool, Summaries(p.Tools...)},
		{"guardrails", schemas.KindGuardrail, Summaries(p.Guardrails...)},
		{"template", schemas.KindTemplate, template},
	}
}
