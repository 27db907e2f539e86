package test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"cairn/test/wait"
)

// TestRealQuarantine registers a record that Elasticsearch rejects: it is
// quarantined and reported, and other records are indexed.
func TestRealQuarantine(t *testing.T) {
	needServers(t)
	t.Parallel()
	for _, top := range topologies {
		t.Run(top.name, func(t *testing.T) {
			t.Parallel()
			b, s := realBackends(t)
			f := b.system(t, top, s)
			bad, good := records(t, "bad", 1)[0], records(t, "good", 20)
			b.elastic.rejectDocuments(bad.word)
			var both sync.WaitGroup
			both.Go(func() { f.registerAtOnce(t, []record{bad}, notYet) })
			both.Go(func() { f.registerAtOnce(t, good, "") })
			both.Wait()
			wait.Until(t, "the index has caught up", func() bool { return f.health(t).caughtUp() })
			f.resolved(t, []record{bad})
			for _, r := range good {
				f.finds(t, r)
			}
			if a := f.call(t, "POST /resolve/skill", bad.query()); strings.Contains(a.body, f.named(bad.id)) {
				t.Errorf("a quarantined record is found: %s", a.body)
			}
			h := f.health(t)
			if i := h.index(); h.Status != "degraded" || i.Quarantined != 1 || len(i.Records) != 1 ||
				!strings.Contains(i.Records[0].Reason, "by the proxy") {
				t.Errorf("the health is %+v, want one quarantined record with its reason", h)
			}
			if reasons := fmt.Sprint(h.Degraded); !strings.Contains(reasons, f.named(bad.id)) {
				t.Errorf("the health is %s, want the record %s", reasons, f.named(bad.id))
			}
			b.elastic.rejectDocuments("")
			bad.word = records(t, "changed", 1)[0].word
			f.registerAtOnce(t, []record{bad}, "")
			f.recovered(t, append(good, bad))
		})
	}
}
