package mcp

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas"
	"cairn/schemas/skillfile"
)

// hits renders the skills of a search as Markdown.
func hits(list schemas.SkillHits) string {
	var b strings.Builder
	for i, record := range list.Skills {
		var hit schemas.SkillHit
		if json.Unmarshal(record, &hit) != nil {
			continue // Cairn registers no such record
		}
		fmt.Fprintf(&b, "%d. %s (score %.2f", i+1, code(hit.SkillID), hit.Score)
		if note := describeStatus(hit.Status, hit.ReplacedBy); note != "" {
			b.WriteString("; " + note)
		}
		b.WriteByte(')')
		if text := skillfile.OneLine(cmp.Or(hit.Purpose, hit.Description, hit.DisplayName)); text != "" {
			b.WriteString(": " + text)
		}
		b.WriteByte('\n')
	}
	if list.Degraded != "" {
		b.WriteString("\nDegraded: " + list.Degraded + "\n")
	}
	return b.String()
}

// skillPackage renders a package as Markdown.
func skillPackage(p schemas.SkillPackage) string {
	var b strings.Builder
	record(&b, "#", "skill_id", p.Manifest)
	records(&b, "Context builders", "context_builder_id", p.ContextBuilders)
	records(&b, "Tools", "tool_id", p.Tools)
	records(&b, "Guardrails", "guardrail_id", p.Guardrails)
	if len(p.Template) > len("{}") {
		records(&b, "Template", "template_id", []jsontext.Value{p.Template})
	}
	var missing []string
	for _, m := range p.Missing {
		missing = append(missing, m.Kind+"/"+m.ID)
	}
	bullets(&b, "Missing", missing)
	return b.String()
}

// agent renders an agent as Markdown.
func agent(a schemas.AgentAnswer) string {
	var b strings.Builder
	record(&b, "#", "agent_id", a.Record)
	fmt.Fprintf(&b, "\nScore %.2f\n", a.Score)
	bullets(&b, "Skills", a.OwnedSkillIDs)
	return b.String()
}

func contextBuilders(a schemas.ContextAnswer) string {
	var b strings.Builder
	records(&b, "Context builders", "context_builder_id", a.ContextBuilders)
	return b.String()
}

func toolRecords(a schemas.ToolsAnswer) string {
	var b strings.Builder
	records(&b, "Tools", "tool_id", a.Tools)
	bullets(&b, "Missing", a.Missing)
	return b.String()
}

func records(b *strings.Builder, title, id string, list []jsontext.Value) {
	if len(list) == 0 {
		return
	}
	b.WriteString("\n## " + title + "\n\n")
	for _, r := range list {
		record(b, "###", id, r)
	}
}

// prose lists the fields of a record that are rendered as text, in this order.
var prose = []string{"purpose", "description", "instructions"}

// record renders a record: its id as a heading, its prose, and all other fields as JSON.
func record(b *strings.Builder, heading, id string, raw jsontext.Value) {
	var fields map[string]jsontext.Value
	if json.Unmarshal(raw, &fields) != nil {
		return // Cairn registers no such record
	}
	fmt.Fprintf(b, "%s %s\n", heading, removeText(fields, id))
	for _, name := range prose {
		if text := strings.TrimSpace(removeText(fields, name)); text != "" {
			b.WriteString("\n" + text + "\n")
		}
	}
	delete(fields, "tenant_id")
	if len(fields) > 0 {
		rest, err := json.Marshal(fields, json.Deterministic(true), jsontext.WithIndent("  "))
		if err != nil {
			return
		}
		fence := "```"
		for strings.Contains(string(rest), fence) {
			fence += "`"
		}
		fmt.Fprintf(b, "\n%sjson\n%s\n%s\n", fence, rest, fence)
	}
	b.WriteByte('\n')
}

// removeText removes a string field and returns its text. It ignores a field of another type.
func removeText(fields map[string]jsontext.Value, name string) (text string) {
	if json.Unmarshal(fields[name], &text) == nil {
		delete(fields, name)
	}
	return text
}

func bullets(b *strings.Builder, title string, items []string) {
	if len(items) == 0 {
		return
	}
	b.WriteString("\n## " + title + "\n\n")
	for _, item := range items {
		b.WriteString("- " + skillfile.OneLine(item) + "\n")
	}
}

// code returns the text as a code span.
func code(text string) string {
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + text + " " + fence
	}
	return fence + text + fence
}
