package resolve_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"cairn/bus"
	"cairn/schemas"
	"cairn/services/internal/embed"
	"cairn/test/wait"
)

func (w *world) health(ctx context.Context) (schemas.Health, error) {
	w.t.Helper()
	return bus.Health("resolve").Call(ctx, w.conn, schemas.Nothing{})
}

func TestHealth(t *testing.T) {
	t.Parallel()
	w := newLibrary(t)
	h, err := w.health(w.ctx())
	if err != nil {
		t.Fatal(err)
	}
	if h.Service != "resolve" || h.Status != schemas.StatusOK || len(h.Degraded) > 0 ||
		h.Backends["index"] != "embedded:" {
		t.Errorf("got %+v, want resolve to be ok with its backends", h)
	}
	if h.Revision != bus.MinRevisionOf(w.ctx(), "") {
		t.Errorf("got revision %d, want %d", h.Revision, bus.MinRevisionOf(w.ctx(), ""))
	}
}

func TestMinRevisionBeyondTheLog(t *testing.T) {
	t.Parallel()
	w := newLibrary(t)
	last := fmt.Sprintf("%d,", bus.MinRevisionOf(w.ctx(), ""))
	ctx := bus.WithTokens(t.Context(), schemas.ConsistencyToken{Revision: 1 << 40})
	calls := map[string]func() error{
		"health": func() error { _, err := w.health(ctx); return err },
		"by id": func() error {
			_, err := bus.ResolveSkill.Call(ctx, w.conn, schemas.SkillQuery{SkillID: "net.vlan"})
			return err
		},
		"by search": func() error {
			_, err := bus.ResolveSkill.Call(ctx, w.conn, schemas.SkillQuery{Query: "audit"})
			return err
		},
		"listing": func() error { _, err := bus.ListTools.Call(ctx, w.conn, schemas.ListQuery{}); return err },
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := call()
			if !errors.Is(err, schemas.ErrMalformed) || !strings.Contains(err.Error(), bus.HeaderMinRevision) ||
				!strings.Contains(err.Error(), last) {
				t.Errorf("got %v, want %v naming the header and revision %s", err, schemas.ErrMalformed, last)
			}
		})
	}
}

// Without Cairn-Min-Revision, a miss is decided at a fence of the log.
func TestMissByIDIsDecidedByTheLog(t *testing.T) {
	t.Parallel()
	w := serving(t)
	for i := range 100 {
		id, toolID := fmt.Sprintf("net.skill%d", i), fmt.Sprintf("p.s.tool%d", i)
		w.put(tool, "acme", toolID, fmt.Sprintf(`{"tool_id":%q}`, toolID))
		if _, err := bus.ResolveTools.Call(t.Context(), w.conn,
			schemas.ToolsQuery{ToolIDs: []string{toolID}, QueryOptions: asTenant("acme")}); err != nil {
			t.Errorf("tool %d: %v", i, err)
		}
		w.put(skill, "", id, fmt.Sprintf(`{"skill_id":%q}`, id))
		if _, err := bus.ResolveSkill.Call(t.Context(), w.conn, schemas.SkillQuery{SkillID: id}); err != nil {
			t.Errorf("skill %d: %v", i, err)
		}
	}
}

func TestQuarantine(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"before the worker starts", "while it runs"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if when == "while it runs" {
				w.serve()
			}
			w.records(record{skill, "", `{"skill_id":"net.good","tool_ids":["p.s.one"]}`},
				record{tool, "", `{"tool_id":"p.s.one"}`})
			w.put(skill, "", "net.bad", `{"skill_id":`)
			w.put(skill, "", "net.worse", `{"skill_id":7}`)
			w.put(skill, "", "net.null", `null`)
			w.put(tool, "", "p.s.one", "\xff")
			w.records(record{skill, "", `{"skill_id":"net.later","purpose":"come afterwards"}`})
			if when != "while it runs" {
				w.serve()
			}
			if p, err := w.parts("", "net.good"); err != nil || len(p.Tools) > 0 {
				t.Errorf("a skill beside it: got %v, %v, want the skill without the unreadable tool", p, err)
			}
			if _, err := w.parts("", "net.bad"); !errors.Is(err, schemas.ErrSkillNotFound) {
				t.Errorf("the unreadable skill: got %v, want %v", err, schemas.ErrSkillNotFound)
			}
			if hits, err := w.search("", "come afterwards", 1); err != nil || hits[0].SkillID != "net.later" {
				t.Errorf("a later record: got %v, %v", hits, err)
			}
			h, err := w.health(w.ctx())
			reasons := strings.Join(h.Degraded, "\n")
			if err != nil || h.Status != schemas.StatusDegraded || !strings.Contains(reasons, "4 records") ||
				!strings.Contains(reasons, "net.bad") {
				t.Errorf("health: got %+v, %v, want 4 record names", h, err)
			}
			w.records(record{skill, "", `{"skill_id":"net.bad"}`}, record{tool, "", `{"tool_id":"p.s.one"}`})
			w.removeSkill("net.worse")
			w.removeSkill("net.null")
			wait.Until(t, "the service is healthy after they are replaced", func() bool {
				h, err := w.health(w.ctx())
				return err == nil && h.Status == schemas.StatusOK
			})
		})
	}
}

// A record that no response can contain is quarantined, and one with one level less is
// part of every kind of response.
func TestDeepRecords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	deep := func(member string, levels int) string { // the record's object is one level
		return fmt.Sprintf(`{%s,"x":%s%s}`, member, strings.Repeat("[", levels-1), strings.Repeat("]", levels-1))
	}
	w.put(tool, "", "p.s.deep", deep(`"tool_id":"p.s.deep"`, 9998))
	w.put(tool, "", "p.s.deeper", deep(`"tool_id":"p.s.deeper"`, 9999))
	w.put(skill, "", "net.deep", deep(`"skill_id":"net.deep","tool_ids":["p.s.deep","p.s.deeper"],"purpose":"dig"`, 9998))
	w.put(skill, "", "net.deeper", deep(`"skill_id":"net.deeper","purpose":"dig"`, 9999))
	w.serve()
	if a, err := bus.ListTools.Call(w.ctx(), w.conn, schemas.ListQuery{}); err != nil || len(a.Tools) != 1 {
		t.Errorf("listing of tools: got %d tools, %v, want 1", len(a.Tools), err)
	}
	if a, err := bus.ListSkills.Call(w.ctx(), w.conn, schemas.ListQuery{}); err != nil || len(a.Skills) != 1 {
		t.Errorf("listing of skills: got %d skills, %v, want 1", len(a.Skills), err)
	}
	ids := schemas.ToolsQuery{ToolIDs: []string{"p.s.deep", "p.s.deeper"}}
	if a, err := bus.ResolveTools.Call(w.ctx(), w.conn, ids); err != nil || len(a.Tools) != 1 || len(a.Missing) != 1 {
		t.Errorf("tools by id: got %d tools, %v, want 1", len(a.Tools), err)
	}
	if p, err := w.parts("", "net.deep"); err != nil || len(p.Tools) != 1 {
		t.Errorf("package: got %v, %v, want one tool", p, err)
	}
	if hits, err := w.search("", "dig", 5); err != nil || len(hits) != 1 {
		t.Errorf("search: got %v, %v, want one skill", hits, err)
	}
	if h, err := w.health(w.ctx()); err != nil || !strings.Contains(strings.Join(h.Degraded, "\n"), "2 records") {
		t.Errorf("health: got %+v, %v, want 2 record names", h, err)
	}
}

// faulty is an embedder that can be made unavailable.
type faulty struct {
	embed.Embedder
	away atomic.Bool
}

func (f *faulty) Embed(ctx context.Context, p embed.Purpose, texts []string) ([][]float32, error) {
	if f.away.Load() {
		return nil, errors.New("embedder unavailable")
	}
	return f.Embedder.Embed(ctx, p, texts)
}

func newFaulty(t testing.TB) *faulty {
	t.Helper()
	return &faulty{Embedder: openEmbedder(t, "lexical:")}
}

func TestEmbedderUnavailable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	library(w)
	embedder := newFaulty(t)
	embedder.away.Store(true)
	w.serveWith(embedder)
	if _, err := w.parts("", "net.vlan"); err != nil {
		t.Errorf("by id while the embedder is unavailable: %v", err)
	}
	if _, err := w.health(w.ctx()); !errors.Is(err, schemas.ErrUnavailable) {
		t.Errorf("health at a revision that search does not include: got %v, want %v", err, schemas.ErrUnavailable)
	}
	if h, err := w.health(t.Context()); err != nil || h.Status != schemas.StatusDegraded ||
		!strings.Contains(h.Degraded[0], "embedder unavailable") {
		t.Errorf("health: got %+v, %v, want the reason that the embedder is unavailable", h, err)
	}
	embedder.away.Store(false)
	wait.Until(w.t, "search sees the revision", func() bool { _, err := w.health(w.ctx()); return err == nil })
	if hits, err := w.search("", "audit virtual networks", 1); err != nil || hits[0].SkillID != "net.vlan" {
		t.Errorf("search after the embedder has recovered: got %v, %v", hits, err)
	}
}

func TestSearchWithoutEmbedder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	library(w)
	embedder := newFaulty(t)
	w.serveWith(embedder)
	embedder.away.Store(true)
	w.put(skill, "", "net.new", `{"skill_id":"net.new","purpose":"newly come"}`)
	wait.Until(w.t, "search is degraded and finds by words", func() bool {
		a, err := bus.ResolveSkill.Call(w.ctx(), w.conn, schemas.SkillQuery{Query: "audit virtual networks"})
		return err == nil && a.Hits.Degraded != "" && strings.Contains(string(a.Hits.Skills[0]), "net.vlan")
	})
}

// A token of another catalog is ignored, except by the health check that confirms a
// registration in that catalog.
func TestTokenOfAnotherCatalog(t *testing.T) {
	t.Parallel()
	w := serving(t)
	body := []byte(`{}`)
	for token, want := range map[schemas.ConsistencyToken]error{
		{Catalog: "another", Revision: 1 << 40}:      nil,
		{Catalog: w.catalog.ID(), Revision: 1 << 40}: schemas.ErrMalformed,
		{Revision: 1 << 40}:                          schemas.ErrMalformed,
	} {
		ctx := bus.WithTokens(t.Context(), token)
		reply, err := bus.ListTools.Forward(ctx, w.conn, body)
		if !errors.Is(err, want) || err == nil && (len(reply.Ignored) != 1 || reply.Ignored[0] != token) {
			t.Errorf("%v: ignored %v, %v, want %v", token, reply.Ignored, err, want)
		}
		if _, err := w.health(ctx); err == nil {
			t.Errorf("the health confirms %v", token)
		}
	}
}
