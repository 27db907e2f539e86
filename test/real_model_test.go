package test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"cairn/test/cairntest"
	"cairn/test/wait"
)

// modelQueries are queries about the library and the skill that each model, and
// search by words alone, must find.
var modelQueries = [][2]string{
	{"locate VLANs by site or number", "$n.vlans"},
	{"list snapshots older than their policy", "$s.snapshots"},
	{"which firewall rule lets a packet through", "$n.firewall"},
	{"customers whose invoices are overdue", "$b.invoices"},
}

// TestRealEmbeddingModelChange replaces workers by ones with another embedding
// model. Searches read the old index generation until the new one is complete, and
// none fails. The first change is of the dimensions, the second of the vectors only.
func TestRealEmbeddingModelChange(t *testing.T) {
	needServers(t)
	t.Parallel()
	server := os.Getenv(ollamaVariable)
	elastic, prefix := newProxy(t, elasticURL()), prefixOf(setup{})
	m := &modelChange{elastic: elastic, client: newClient(t, start(t, topologies[1], setup{
		workers: [][]string{{"tags", "register", "analyze"}, {"resolve"}, {"resolve"}},
		index:   elastic.url + "?prefix=" + prefix, embed: "lexical:",
	}))}
	m.put(t, library...)
	m.filled(t)
	m.found(t, "")
	old := m.live(t, prefix, 4096)
	for _, next := range []string{"scripted-embed?floor=" + scriptedFloor, "minilm"} {
		if !m.hasModel(t, server, next) {
			t.Skipf("the Ollama at %s has no model %s", server, next)
		}
		searching, enough := context.WithCancel(t.Context())
		var searches sync.WaitGroup
		searches.Go(func() { m.searchUntil(searching, t) })
		elastic.setMode(t, frozen)
		m.replaceWorkers(t, ollamaURL(server, next))
		wait.Until(t, "the status names the live index and the new embedder", func() bool {
			status := m.status(t)
			return strings.Contains(status, "live index "+old) && strings.Contains(status, "embed ollama://")
		})
		m.found(t, "text-only")
		elastic.setMode(t, healthy)
		m.filled(t)
		if status := m.status(t); strings.Contains(status, "live index") {
			t.Errorf("the final status is %s", status)
		}
		m.found(t, "")
		enough()
		searches.Wait()
		now := m.live(t, prefix, 384)
		if now == old {
			t.Errorf("the live index is still %s", now)
		}
		old = now
	}
}

// modelChange is a system whose workers are replaced by ones with another model.
type modelChange struct {
	*client
	elastic *proxy
}

// replaceWorkers starts workers with the embedder, then stops the old ones.
func (m *modelChange) replaceWorkers(t *testing.T, embed string) {
	t.Helper()
	old := m.workers
	var joined []*cairntest.Process
	for _, p := range old {
		args := slices.Clone(p.Cmd.Args[1:])
		args[slices.Index(args, "--embed")+1] = embed
		joined = append(joined, launch(p.Cmd.Path, args...))
	}
	m.workers = append(old[:len(old):len(old)], joined...)
	for _, p := range joined {
		if err := p.WaitReady(); err != nil {
			t.Fatal(err)
		}
	}
	if err := cairntest.StopAll(old); err != nil {
		t.Error(err)
	}
	m.workers = joined
}

// searchUntil searches until ctx ends; every search must succeed.
func (m *modelChange) searchUntil(ctx context.Context, t *testing.T) {
	for i := 0; ; i++ {
		query, want := modelQueries[i%len(modelQueries)][0], modelQueries[i%len(modelQueries)][1]
		a, err := m.try(ctx, "POST /resolve/skill", m.query(query))
		if ctx.Err() != nil {
			return
		}
		if err != nil || a.status != 200 ||
			contains(value(t, a.body), value(t, m.named(`{"skills":[{"skill_id":"`+want+`"}]}`))) != "" {
			t.Errorf("%s: %v %d %s, want %s", query, err, a.status, truncated(a.body), want)
			return
		}
	}
}

func (m *modelChange) query(text string) string {
	return fmt.Sprintf(`{"query":%q,"tenant_id":"$","top_k":1}`, text)
}

// found waits until each query finds its skill, with the degraded value or none.
func (m *modelChange) found(t *testing.T, degraded string) {
	t.Helper()
	for _, q := range modelQueries {
		wait.Until(t, fmt.Sprintf("%s is found, degraded %q", q[1], degraded), func() bool {
			a := m.call(t, "POST /resolve/skill", m.query(q[0]))
			a.expect(t, 200, "", `{"skills":[{"skill_id":"`+q[1]+`"}]}`)
			return strings.Contains(a.body, `"degraded"`) == (degraded != "") && strings.Contains(a.body, degraded)
		})
	}
}

// filled waits until the live index has caught up.
func (m *modelChange) filled(t *testing.T) {
	t.Helper()
	wait.Until(t, "the index of the model is live and complete", func() bool {
		h := m.health(t)
		return h.Status == "ok" && h.caughtUp()
	})
}

// status returns the output of "cairn status".
func (m *modelChange) status(t *testing.T) string {
	t.Helper()
	status, err := exec.CommandContext(t.Context(), m.edges[0].Cmd.Path, "status", "--url", m.edge).CombinedOutput()
	if err != nil {
		t.Fatalf("cairn status: %v\n%s", err, status)
	}
	return string(status)
}

// live returns the fingerprint of the only index of skills and checks the
// dimensions of its vectors.
func (m *modelChange) live(t *testing.T, prefix string, dimensions int) string {
	t.Helper()
	var indices map[string]struct {
		Mappings struct {
			Properties struct {
				Vectors struct {
					Properties struct{ Vector struct{ Dims int } }
				}
			}
		}
	}
	a := m.at(elasticURL()).call(t, "GET /"+prefix+"-skill/_mapping", "")
	if err := json.Unmarshal([]byte(a.body), &indices); err != nil || len(indices) != 1 {
		t.Fatalf("the index of skills: %v %s, want one", err, a.body)
	}
	for name, index := range indices {
		if got := index.Mappings.Properties.Vectors.Properties.Vector.Dims; got != dimensions {
			t.Errorf("%s has vectors of %d dimensions, want %d", name, got, dimensions)
		}
		return strings.TrimPrefix(name, prefix+"-skill-")
	}
	return ""
}

// hasModel reports whether the Ollama server has the model.
func (m *modelChange) hasModel(t *testing.T, server, model string) bool {
	t.Helper()
	name, _, _ := strings.Cut(model, "?")
	return m.at(strings.TrimRight(server, "/")).call(t, "POST /api/show", `{"model":"`+name+`"}`).status == 200
}
