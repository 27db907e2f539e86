package records

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/deploy/internal/output"
	"cairn/schemas"
)

// Summary contains the fields of a record of any kind that tables show.
type Summary struct {
	SkillID          string   `json:"skill_id"`
	AgentID          string   `json:"agent_id"`
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
	TenantID         string   `json:"tenant_id"`
	Domain           string   `json:"domain"`
	Version          string   `json:"version"`
	Status           string   `json:"status"`
	Labels           Labels   `json:"labels"`
	// Named is the name in a table, not a field of the record.
	Named string `json:"-"`
}

// Labels are the labels of a record.
type Labels map[string]string

// String returns the labels as a selector.
func (l Labels) String() string { return strings.Join(l.Pairs(), ",") }

// Pairs returns NAME=VALUE of each label, sorted by name.
func (l Labels) Pairs() []string {
	pairs := make([]string, 0, len(l))
	for _, name := range slices.Sorted(maps.Keys(l)) {
		pairs = append(pairs, name+"="+l[name])
	}
	return pairs
}

// ID returns the ID of the record. A skill also has the ID of its template.
func (s Summary) ID() string {
	return cmp.Or(s.SkillID, s.AgentID, s.ContextBuilderID, s.GuardrailID, s.ToolID, s.TemplateID)
}

// About returns a one-line description of the record.
func (s Summary) About() string {
	text := cmp.Or(s.Purpose, s.Description, s.Instructions, s.DisplayName)
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// Scope returns the tenant of the record, or global.
func (s Summary) Scope() string { return cmp.Or(s.TenantID, schemas.ScopeGlobal) }

// StatusOr returns the status, active by default.
func (s Summary) StatusOr() string { return cmp.Or(s.Status, schemas.StatusActive) }

// Summaries parses records; a malformed record results in an empty summary.
func Summaries(values ...jsontext.Value) []Summary {
	list := make([]Summary, len(values))
	for i, v := range values {
		_ = json.Unmarshal(v, &list[i]) // fields of another type are ignored
	}
	return list
}

// Column is a column of a table of records.
type Column struct {
	Title string
	Cell  func(Summary) string
	Wide  bool // in the wide format only
}

// Formats returns the values of --output of commands that print records; the first is the
// default.
func Formats() []string { return []string{"table", "wide", "json", "yaml", "name"} }

// WriteTable writes one row for each record.
func WriteTable(t *output.Table, list []Summary, wide bool, columns ...Column) {
	columns = slices.DeleteFunc(columns, func(c Column) bool { return c.Wide && !wide })
	titles := make([]string, len(columns))
	for i, c := range columns {
		titles[i] = c.Title
	}
	t.Row(titles...)
	for _, s := range list {
		cells := make([]string, len(columns))
		for i, c := range columns {
			cells[i] = c.Cell(s)
		}
		t.Row(cells...)
	}
}

// Names returns KIND/ID of each record.
func Names(kind string, list []Summary) []string {
	names := make([]string, len(list))
	for i, s := range list {
		names[i] = kind + "/" + s.ID()
	}
	return names
}
