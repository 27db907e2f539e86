package resolve_test

import (
	"context"
	"fmt"
	"testing"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
)

// BenchmarkResolveByID measures one caller over the bus; "echo" has a handler
// without work as the baseline.
func BenchmarkResolveByID(b *testing.B) {
	b.Run("skill", func(b *testing.B) {
		w := newWorld(b)
		w.fill(1000)
		w.serve()
		askSkills(b, bustest.Dial(b, w.server))
	})
	b.Run("echo", func(b *testing.B) {
		server, conn := bustest.Start(b)
		if err := bus.ResolveSkill.Serve(bustest.Service(b, conn, "echo"), echo); err != nil {
			b.Fatal(err)
		}
		askSkills(b, bustest.Dial(b, server))
	})
}

// fill registers skills that share a tool and a context builder.
func (w *world) fill(skills int) {
	w.t.Helper()
	for i := range skills {
		id := fmt.Sprintf("bench.skill%d", i)
		w.put(schemas.KindSkill, "", id,
			`{"skill_id":"`+id+`","display_name":"A skill","tool_ids":["a.b.c"],"context_builder_ids":["cb"]}`)
	}
	w.put(schemas.KindTool, "", "a.b.c", `{"tool_id":"a.b.c","tool_class":"net"}`)
	w.put(schemas.KindContextBuilder, "", "cb",
		`{"context_builder_id":"cb","context_type":"doc","tool_ids":["a.b.c"],"instructions":"Read."}`)
}

func askSkills(b *testing.B, caller *bus.Conn) {
	b.Helper()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		body := fmt.Appendf(nil, `{"skill_id":"bench.skill%d"}`, i%1000)
		if _, err := bus.ResolveSkill.Forward(b.Context(), caller, body); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

func echo(_ context.Context, q schemas.SkillQuery) (schemas.SkillAnswer, error) {
	return schemas.SkillAnswer{Package: &schemas.SkillPackage{SkillID: q.SkillID}}, nil
}
