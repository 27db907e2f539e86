package resolve_test

import (
	"errors"
	"strings"
	"testing"

	"cairn/bus"
	"cairn/schemas"
	"cairn/services/internal/embed"
	"cairn/services/internal/index"
)

// The index that workers share is at a port on which nobody listens.
func TestIDsAreResolvedWhileTheIndexIsAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	library(w)
	e, err := embed.Open(t.Context(), "lexical:")
	if err != nil {
		t.Fatal(err)
	}
	ix, err := index.Open("http://127.0.0.1:1", e, "")
	if err != nil {
		t.Fatal(err)
	}
	w.start(ix, false)
	if _, err := bus.ResolveSkill.Call(w.ctx(), w.conn, schemas.SkillQuery{SkillID: "net.vlan"}); err != nil {
		t.Errorf("by id: %v", err)
	}
	if _, err := w.search("", "audit"); !errors.Is(err, schemas.ErrUnavailable) {
		t.Errorf("got %v, want %v", err, schemas.ErrUnavailable)
	}
	if _, err := bus.ResolveAgent.Call(w.ctx(), w.conn, schemas.AgentQuery{Query: "audit"}); !errors.Is(err, schemas.ErrUnavailable) {
		t.Errorf("got %v, want %v", err, schemas.ErrUnavailable)
	}
	h, err := w.health(w.ctx())
	if err != nil || h.Status != schemas.StatusDegraded || h.Index == nil || !strings.Contains(h.Degraded[0], "index unavailable") {
		t.Errorf("got %+v, %v, want degraded by the index", h, err)
	}
}
