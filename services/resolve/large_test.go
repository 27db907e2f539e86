package resolve_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"cairn/bus"
	"cairn/schemas"
)

// TestLargeResponsesAreRejected requests records that together exceed the maximum message of
// NATS.
func TestLargeResponsesAreRejected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := strings.Repeat("x", 900_000) // in a field that is not searched; ten exceed 8 MiB
	var ids []string
	for i := range 10 {
		id := fmt.Sprintf("net.server.t%d", i)
		ids = append(ids, id)
		w.put("tool", "", id, fmt.Sprintf(`{"tool_id":%q,"tool_class":"large","notes":%q}`, id, text))
		w.put(skill, "", fmt.Sprintf("net.s%d", i),
			fmt.Sprintf(`{"skill_id":"net.s%d","purpose":"large","notes":%q}`, i, text))
	}
	list := `["` + strings.Join(ids, `","`) + `"]`
	w.put(skill, "", "net.all", `{"skill_id":"net.all","tool_ids":`+list+`}`)
	w.put("context_builder", "", "all", `{"context_builder_id":"all","skill_ids":["net.all"],"tool_ids":`+list+`}`)
	w.serve()
	topK := 100
	for name, call := range map[string]func() error{
		"tools": func() error {
			_, err := bus.ResolveTools.Call(w.ctx(), w.conn, schemas.ToolsQuery{ToolIDs: ids})
			return err
		},
		"a tool class": func() error {
			_, err := bus.ResolveToolClass.Call(w.ctx(), w.conn, schemas.ToolClassQuery{ToolClass: "large"})
			return err
		},
		"a skill": func() error {
			_, err := bus.ResolveSkill.Call(w.ctx(), w.conn, schemas.SkillQuery{SkillID: "net.all"})
			return err
		},
		"a package": func() error {
			_, err := bus.ResolvePackage.Call(w.ctx(), w.conn, schemas.SkillRef{SkillID: "net.all"})
			return err
		},
		"a search": func() error {
			_, err := bus.ResolveSkill.Call(w.ctx(), w.conn, schemas.SkillQuery{Query: "large", TopK: &topK})
			return err
		},
	} {
		if err := call(); !errors.Is(err, schemas.ErrResponseTooLarge) {
			t.Errorf("%s: got %v, want %v", name, err, schemas.ErrResponseTooLarge)
		}
	}
	if _, err := bus.ResolveTools.Call(w.ctx(), w.conn, schemas.ToolsQuery{ToolIDs: ids[:1]}); err != nil {
		t.Errorf("one of the tools: %v", err)
	}
}
