package main

import (
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestFigures(t *testing.T) {
	t.Parallel()
	second := 1 / math.Log2(3)
	for _, row := range []struct {
		name, gold, found string
		want              figures
	}{
		{"the skill comes first", "a", "a b c", figures{1, 1, 1, 1, 1}},
		{"the skill comes second", "a", "b a", figures{1, 0, 1, second, 1}},
		{"the skill comes sixth", "a", "b c d e f a", figures{1, 0, 0, 1 / math.Log2(7), 0}},
		{"the skill comes eleventh", "a", "b c d e f g h i j k a", figures{1, 0, 0, 0, 0}},
		{"two skills come first", "a b", "b a c", figures{1, 0.5, 1, 1, 1}},
		{"one of two skills comes", "a b", "b c", figures{1, 0.5, 0.5, 1 / (1 + second), 0}},
		{"nothing comes", "a", "", figures{1, 0, 0, 0, 0}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			gold := map[string]bool{}
			for _, id := range strings.Fields(row.gold) {
				gold[id] = true
			}
			var got figures
			got.add(gold, strings.Fields(row.found))
			if diff := cmp.Diff(row.want, got, cmpopts.EquateApprox(0, 1e-12)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(i+1) * time.Millisecond
	}
	for _, row := range []struct {
		list  []time.Duration
		share float64
		want  float64
	}{{hundred, 0.5, 50}, {hundred, 0.95, 95}, {hundred[:1], 0.95, 1}, {nil, 0.5, 0}} {
		if got := percentile(row.list, row.share); got != row.want {
			t.Errorf("%v of %d: %v ms; want %v", row.share, len(row.list), got, row.want)
		}
	}
}

// judgements writes a corpus of three skills and three queries, one of them for
// two skills and one for something else than it asks.
func judgements(t *testing.T) (corpus, queries string) {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "corpus.jsonl", `{"skill_id": "garden.roses", "purpose": "prune roses", "tenant_id": "elsewhere"}
{"skill_id": "kitchen.bread", "purpose": "bake bread"}
{"skill_id": "kitchen.soup", "purpose": "boil soup"}`)
	write(t, dir, "queries.jsonl", `{"query": "How are roses pruned?", "skill_ids": ["garden.roses"], "source": "x"}
{"query": "Please bake bread. Then boil soup.", "skill_ids": ["kitchen.bread", "kitchen.soup"]}
{"query": "boil soup", "skill_ids": ["garden.roses"]}`)
	return filepath.Join(dir, "corpus.jsonl"), filepath.Join(dir, "queries.jsonl")
}

func TestEval(t *testing.T) {
	t.Parallel()
	s := alone(t)
	corpus, queries := judgements(t)
	listed := func(tenant string) string {
		_, said := asks(t, "GET", s.http+"/skills?tenant_id="+tenant, "")
		return said
	}
	got := do(t, "", "eval", corpus, queries, "--url", s.http, "--register", "--keep", "--tenant", "eval-a", "--json")
	var told evaluation
	if err := json.Unmarshal([]byte(got.out), &told); err != nil || got.code != 0 || got.err != "" {
		t.Fatalf("%v, %+v", err, got)
	}
	want := evaluation{
		Corpus: 3, Tenant: "eval-a", AtOnce: 4, Backends: map[string]string{"index": "embedded:", "embed": "lexical:"},
		All:     figures{3, 0.5, 2. / 3, 2. / 3, 2. / 3},
		One:     figures{2, 0.5, 0.5, 0.5, 0.5},
		Several: figures{1, 0.5, 1, 1, 1},
	}
	measured := cmpopts.IgnoreFields(evaluation{}, "P50", "P95", "Seconds")
	if diff := cmp.Diff(want, told, measured, cmpopts.EquateApprox(0, 1e-12)); diff != "" || told.P50 <= 0 || told.P95 < told.P50 {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.Contains(listed("eval-a"), "kitchen.soup") {
		t.Error("what was to be kept is gone")
	}
	again := do(t, "", "eval", corpus, queries, "--url", s.http, "--tenant", "eval-a")
	if again.code != 0 || !strings.Contains(again.out, "for one skill  2        0.5000    0.5000    0.5000   0.5000") {
		t.Errorf("of what is registered: %+v", again)
	}
	gone := do(t, "", "eval", corpus, queries, "--url", s.http, "--tenant", "eval-a", "--register")
	if gone.code != 0 || gone.err != "" || strings.Contains(listed("eval-a"), "kitchen") {
		t.Errorf("left behind %s: %+v", listed("eval-a"), gone)
	}
	if none := do(t, "", "eval", corpus, queries, "--url", s.http); none.code != 0 || !strings.Contains(none.out, "not found 3, degraded 0, failed 0") {
		t.Errorf("of nothing: %+v", none)
	}
}

func TestEvalRefuses(t *testing.T) {
	t.Parallel()
	corpus, queries := judgements(t)
	dir := t.TempDir()
	write(t, dir, "other.jsonl", `{"query": "q", "skill_ids": ["kitchen.tea"]}`)
	write(t, dir, "bare.jsonl", `{"query": "q"}`)
	write(t, dir, "tool.jsonl", `{"tool_id": "a.b.c"}`)
	write(t, dir, "empty.jsonl", "\n")
	for _, row := range []struct {
		name string
		args []string
		says string
	}{
		{"a tenant who is someone", []string{corpus, queries, "--register", "--tenant", "acme"}, "--register wants one that begins with eval-"},
		{"nothing to keep", []string{corpus, queries, "--keep"}, "--keep: nothing is removed without --register"},
		{"nobody asks", []string{corpus, queries, "--at-once", "0"}, "--at-once: want at least 1, got 0"},
		{"too many ask", []string{corpus, queries, "--at-once", "99"}, "--at-once: want at most 32, got 99"},
		{"a skill that is not in the corpus", []string{corpus, filepath.Join(dir, "other.jsonl")}, "other.jsonl:1: the corpus has no skill kitchen.tea"},
		{"a query without skills", []string{corpus, filepath.Join(dir, "bare.jsonl")}, "bare.jsonl:1: want a query and at least one of skill_ids"},
		{"no query", []string{corpus, filepath.Join(dir, "empty.jsonl")}, "empty.jsonl: no query"},
		{"no skill", []string{filepath.Join(dir, "empty.jsonl"), queries}, "empty.jsonl: no skill"},
		{"a corpus of tools", []string{filepath.Join(dir, "tool.jsonl"), queries}, "tool.jsonl:1: want a skill, got the tool a.b.c"},
		{"one file", []string{corpus}, "want CORPUS and QUERIES"},
		{"no Cairn", []string{corpus, queries, "--url", "http://127.0.0.1:1"}, "no Cairn answers"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got := do(t, "", append([]string{"eval"}, row.args...)...); got.code != 1 || got.out != "" || !strings.Contains(got.err, row.says) {
				t.Errorf("%+v; want %q", got, row.says)
			}
		})
	}
}

// A corpus that becomes searchable later is waited for; answers that fail, or
// lack something, are told; what was registered is removed all the same, at the
// second try.
func TestEvalOfACairnInTrouble(t *testing.T) {
	t.Parallel()
	corpus, queries := judgements(t)
	var registered, resolved, removed atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/health":
			_, _ = io.WriteString(w, `{"status":"ok","services":[{"service":"resolve","backends":{"embed":"e"}}]}`)
		case r.Method == http.MethodDelete:
			if removed.Add(1) == 1 || r.URL.Query().Get("tenant_id") == "" {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			w.WriteHeader(http.StatusNoContent)
		case r.URL.Path == "/register/skill":
			if registered.Add(1) < 5 {
				_, _ = io.WriteString(w, `{"skill_id":"x","indexed":false}`)
			} else {
				_, _ = io.WriteString(w, `{"skill_id":"x"}`)
			}
		case resolved.Add(1) == 1:
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, `{"code":"CE-010","status":500,"title":"internal error"}`)
		default:
			if registered.Load() < 5 {
				t.Error("asked before the corpus was searchable")
			}
			_, _ = io.WriteString(w, `{"skills":[{"skill_id":"garden.roses"}],"degraded":"text-only"}`)
		}
	}))
	t.Cleanup(server.Close)
	got := do(t, "", "eval", corpus, queries, "--url", server.URL, "--register")
	if got.code != 1 || !strings.Contains(got.out, "not found 0, degraded 2, failed 1") || !strings.Contains(got.err, "1 of 3 queries were not answered, such as: ") {
		t.Errorf("%+v", got)
	}
	if registered.Load() != 5 || removed.Load() != 4 {
		t.Errorf("registered %d times and removed %d times; want 5 and 4", registered.Load(), removed.Load())
	}
}
