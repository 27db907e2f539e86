package bench

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"
)

// record is a record of the global collection, as registered.
type record struct {
	kind, id string
	text     []byte
}

// library returns n records: the skills of the corpus, repeated, with tools, context
// builders, templates and agents that are linked with them.
func library(b *testing.B, n int) (records []record) {
	b.Helper()
	var corpus []map[string]any
	for _, line := range linesOf(b, evaluation(b, "retrieval", "corpus.jsonl")) {
		var skill map[string]any
		must(b, json.Unmarshal(line, &skill))
		corpus = append(corpus, skill)
	}
	add := func(kind, id string, fields map[string]any) {
		fields[kind+"_id"] = id
		text, err := json.Marshal(fields)
		must(b, err)
		records = append(records, record{kind, id, text})
	}
	for i := range n / 10 {
		for k := range 3 {
			add("tool", toolID(3*i+k), map[string]any{"tool_class": fmt.Sprint("class", i%50), "provider": "a",
				"description": "Lists what there is of it"})
		}
		add("context_builder", builderID(i),
			map[string]any{"context_type": "inventory", "tool_ids": []string{toolID(i), toolID(i + 1)},
				"instructions": "List all of it first."})
		var skills []string
		for k := range 5 {
			skill := maps.Clone(corpus[(5*i+k)%len(corpus)])
			skills = append(skills, fmt.Sprintf("%s_%d", skill["skill_id"], 5*i+k))
			skill["tool_ids"] = []string{toolID(3 * i), toolID(3*i + 1), toolID(k)}
			skill["context_builder_ids"] = []string{builderID(i), builderID(i / 2)}
			skill["template_id"] = fmt.Sprint("template", i/2)
			add("skill", skills[k], skill)
		}
		if i%2 == 0 {
			add("template", fmt.Sprint("template", i/2), map[string]any{"layout": "table"})
		} else {
			add("agent", fmt.Sprint("agent", i),
				map[string]any{"skill_ids": skills, "capabilities": []string{"answers questions about it"}})
		}
	}
	return records
}

func toolID(n int) string    { return fmt.Sprintf("a.b.tool%d", n) }
func builderID(n int) string { return fmt.Sprintf("builder%d", n) }
