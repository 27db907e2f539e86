package projection_test

import (
	"cmp"
	"context"
	"strings"
	"testing"

	"cairn/services/internal/index"
	"cairn/test/wait"
)

func TestRejectedRecordsAreQuarantined(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.server.fail(func(_ context.Context, batch []index.Change) error {
		if poison := titled(batch, "poison"); len(poison) > 0 {
			return rejected(poison)
		}
		return nil
	})
	bad, other := w.put("net.bad", "poison"), w.put("net.other", "poison")
	good := w.put("net.good", "cure")
	p, second := w.projector(), w.projector()
	w.visible(p, good)
	if got := w.found("cure"); got != "net.good" {
		t.Errorf("got %q, want net.good", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), wait.Timeout)
	defer cancel()
	if err := p.WaitVisible(ctx, bad); err == nil || ctx.Err() != nil {
		t.Errorf("got %v, want an error at once for the rejected record", err)
	}
	w.caughtUp(p)
	wait.Until(t, "both workers list both records", func() bool {
		a, _ := p.Status(t.Context())
		b, _ := second.Status(t.Context())
		return a.Quarantined == 2 && b.Quarantined == 2
	})
	s, wrong := second.Status(t.Context())
	first := s.QuarantinedRecords[0]
	if first.Key != key("net.bad").String() || !strings.Contains(first.Reason, "too strange") || first.Revision != bad ||
		first.At == "" {
		t.Errorf("got %+v, want net.bad at revision %d with its reason", first, bad)
	}
	if len(wrong) != 1 || !strings.Contains(wrong[0], first.Key) {
		t.Errorf("got %q, want one sentence with the key", wrong)
	}
	w.visible(p, w.put("net.bad", "healed"))
	w.remove("net.other")
	wait.Until(t, "the quarantine is empty", func() bool {
		a, _ := p.Status(t.Context())
		b, _ := second.Status(t.Context())
		return a.Quarantined == 0 && b.Quarantined == 0
	})
	if got := w.found("healed"); got != "net.bad" || other == 0 {
		t.Errorf("got %q, want net.bad", got)
	}
}

func TestSupersededRecordIsNotQuarantined(t *testing.T) {
	t.Parallel()
	replace := map[string]func(*world) uint64{
		"by another record": func(w *world) uint64 { return w.put("net.bad", "healed") },
		"by none":           func(w *world) uint64 { return w.remove("net.bad") },
	}
	for name, replaced := range replace {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			began, release := make(chan struct{}, 16), make(chan struct{})
			hold := held("poison", began, release)
			w.server.fail(func(ctx context.Context, batch []index.Change) error {
				return cmp.Or(hold(ctx, batch), rejected(titled(batch, "poison")))
			})
			p := w.projector()
			w.put("net.bad", "poison")
			<-began
			w.visible(p, replaced(w))
			close(release)
			w.caughtUp(p)
			wait.Until(w.t, "the quarantine is empty", func() bool {
				s, _ := p.Status(t.Context())
				return s.Quarantined == 0
			})
		})
	}
}

func TestOlderRevisionDoesNotReleaseQuarantine(t *testing.T) {
	t.Parallel()
	for name, older := range map[string]string{"the record is applied": "slow", "the record is rejected": "slow poison"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testStaysQuarantined(t, older)
		})
	}
}

func testStaysQuarantined(t *testing.T, older string) {
	w := newWorld(t)
	began, release := make(chan struct{}, 16), make(chan struct{})
	hold := held("slow", began, release)
	w.server.fail(func(ctx context.Context, batch []index.Change) error {
		return cmp.Or(hold(ctx, batch), rejected(titled(batch, "poison")))
	})
	p := w.projector()
	w.put("net.bad", older)
	<-began
	bad := w.put("net.bad", "poison")
	wait.Until(w.t, "the record is quarantined", func() bool {
		s, _ := p.Status(t.Context())
		return s.Quarantined == 1
	})
	close(release)
	w.caughtUp(p)
	fresh := w.projector() // has applied the written records only
	if s, _ := fresh.Status(t.Context()); s.Quarantined != 1 || s.QuarantinedRecords[0].Revision != bad {
		t.Errorf("got %+v quarantined, want revision %d", s.QuarantinedRecords, bad)
	}
}
