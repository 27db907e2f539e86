package resolve_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/bus"
	"cairn/schemas"
	"cairn/test/wait"
)

// TestDanglingReferences reads the health while the records that others link to are absent, and after they
// are registered.
func TestDanglingReferences(t *testing.T) {
	t.Parallel()
	w := serving(t)
	w.records(
		record{skill, "", `{"skill_id":"net.audit","tool_ids":["p.s.one","p.s.draft"]}`},
		record{tool, "", `{"tool_id":"p.s.draft","status":"draft"}`},
		record{tool, "other", `{"tool_id":"p.s.one"}`},
		record{guard, "acme", `{"guardrail_id":"g","skill_ids":["net.audit","net.gone"]}`},
	)
	dangling := func() *schemas.DanglingReferences {
		h, err := bus.Health("resolve").Call(t.Context(), w.conn, schemas.Nothing{})
		if err != nil || h.Status != schemas.StatusOK {
			t.Fatalf("health: %v, %v", h, err)
		}
		return h.Dangling
	}
	expect := func(name string, want *schemas.DanglingReferences) {
		t.Helper()
		wait.Success(t, func() error {
			if diff := cmp.Diff(want, dangling()); diff != "" {
				return fmt.Errorf("%s (-want +got):\n%s", name, diff)
			}
			return nil
		})
	}
	audit := schemas.DanglingReference{Kind: skill, ID: "net.audit", Field: "tool_ids", Target: "p.s.one"}
	expect("two absent records", &schemas.DanglingReferences{Count: 2, First: []schemas.DanglingReference{
		{Kind: guard, ID: "g", TenantID: "acme", Field: "skill_ids", Target: "net.gone"}, audit}})
	w.records(record{skill, "acme", `{"skill_id":"net.gone"}`})
	expect("one absent record", &schemas.DanglingReferences{Count: 1, First: []schemas.DanglingReference{audit}})
	w.records(record{tool, "", `{"tool_id":"p.s.one"}`})
	expect("none", nil)
	for i := range 30 {
		w.records(record{skill, "acme", fmt.Sprintf(`{"skill_id":"net.s%d","template_id":"t"}`, i)})
	}
	wait.Until(t, "the health counts 30 references", func() bool { d := dangling(); return d != nil && d.Count == 30 })
	if n := len(dangling().First); n != 20 {
		t.Errorf("the health lists %d references, want 20", n)
	}
}
