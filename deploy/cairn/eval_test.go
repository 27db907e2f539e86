package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"cairn/schemas"
	"cairn/test/cairntest"
)

// evalOutput is the JSON that eval prints, except for its duration.
type evalOutput struct {
	Corpus, Queries      int
	Tenant               string
	Backends             map[string]string
	AtOnce               int `json:"at_once"`
	First                evalLatencies
	Text, Vector, Hybrid evalMethod
}

// evalLatencies contains the latencies of a pass and its number of incomplete answers.
type evalLatencies struct {
	P50   float64 `json:"p50_ms"`
	P95   float64 `json:"p95_ms"`
	Short int
}

// evalMethod is the part of an evaluation for one search method.
type evalMethod struct {
	evalLatencies
	All              evalFigures
	One              evalFigures `json:"one_skill"`
	Several          evalFigures `json:"several_skills"`
	Missing          int         `json:"not_found"`
	Lacking          string      `json:"degraded_as"`
	Failure          string
	Degraded, Failed int
}

// evalFigures are means over queries, without their confidence intervals.
type evalFigures struct {
	Queries int
	Recall1 float64 `json:"recall@1"`
	Recall5 float64 `json:"recall@5"`
	NDCG10  float64 `json:"ndcg@10"`
	All5    float64 `json:"all@5"`
}

// judgements writes a corpus of three skills and three queries: one with two relevant
// skills, and one whose relevant skill does not match its text.
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
	s := startIsolated(t)
	corpus, queries := judgements(t)
	listed := func(tenant string) string {
		_, body := cairntest.Request(t, "GET", s.http+"/skills?tenant_id="+tenant, "")
		return body
	}
	got := do(t, "", "eval", corpus, queries, "--url", s.http, "--register", "--keep", "--tenant", "eval-a", "-ojson")
	var result evalOutput
	if err := json.Unmarshal([]byte(got.out), &result); err != nil || got.code != 0 || got.err != "" {
		t.Fatalf("%v, %+v", err, got)
	}
	method := evalMethod{
		All:     evalFigures{3, 0.5, 2. / 3, 2. / 3, 2. / 3},
		One:     evalFigures{2, 0.5, 0.5, 0.5, 0.5},
		Several: evalFigures{1, 0.5, 1, 1, 1},
	}
	want := evalOutput{
		Corpus: 3, Queries: 3, Tenant: "eval-a", AtOnce: 4,
		Backends: map[string]string{"index": "embedded:", "embed": "static:"},
		Text:     method, Vector: method, Hybrid: method,
	}
	timed := cmp.Options{cmpopts.IgnoreFields(evalLatencies{}, "P50", "P95"), cmp.AllowUnexported(evalMethod{}),
		cmpopts.EquateApprox(0, 1e-12)}
	if diff := cmp.Diff(want, result, timed); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, l := range []evalLatencies{result.First, result.Text.evalLatencies, result.Vector.evalLatencies,
		result.Hybrid.evalLatencies} {
		if l.P50 <= 0 || l.P95 < l.P50 {
			t.Errorf("p50 %g ms, p95 %g ms", l.P50, l.P95)
		}
	}
	if !strings.Contains(listed("eval-a"), "kitchen.soup") {
		t.Error("the corpus was removed despite --keep")
	}
	again := do(t, "", "eval", corpus, queries, "--url", s.http, "--tenant", "eval-a")
	for _, row := range []string{`text +0\.5000 +0\.6667`, `vector +0\.5000`, `hybrid +0\.5000 .* 0 +0 +0`,
		`  2 with one skill +0\.5000`, `  1 with several +0\.5000 +1\.0000`} {
		if again.code != 0 || !regexp.MustCompile(`(?m)^`+row).MatchString(again.out) {
			t.Errorf("no row %s: %+v", row, again)
		}
	}
	gone := do(t, "", "eval", corpus, queries, "--url", s.http, "--tenant", "eval-a", "--register")
	if gone.code != 0 || gone.err != "" || strings.Contains(listed("eval-a"), "kitchen") {
		t.Errorf("left behind %s: %+v", listed("eval-a"), gone)
	}
	if none := do(t, "", "eval", corpus, queries, "--url", s.http); none.code != 0 ||
		!regexp.MustCompile(`hybrid .* 3 +0 +0\n`).MatchString(none.out) {
		t.Errorf("of nothing: %+v", none)
	}
}

func TestEvalInvalidFlags(t *testing.T) {
	t.Parallel()
	corpus, queries := judgements(t)
	dir := t.TempDir()
	write(t, dir, "other.jsonl", `{"query": "q", "skill_ids": ["kitchen.tea"]}`)
	write(t, dir, "bare.jsonl", `{"query": "q"}`)
	write(t, dir, "tool.jsonl", `{"tool_id": "a.b.c"}`)
	write(t, dir, "empty.jsonl", "\n")
	write(t, dir, "before.json", `{"queries": 7}`)
	refuse(t, []refusal{
		{"a named tenant", []string{corpus, queries, "--register", "--tenant", "acme"},
			"with --register the tenant must begin with eval-"},
		{"nothing to keep", []string{corpus, queries, "--keep"}, "--keep requires --register"},
		{"no concurrency", []string{corpus, queries, "--at-once", "0"}, "--at-once: expected at least 1, got 0"},
		{"too much concurrency", []string{corpus, queries, "--at-once", "99"}, "--at-once: expected at most 32, got 99"},
		{"an unknown metric", []string{corpus, queries, "--min", "recall@3=0.5"},
			"--min recall@3=0.5: expected one of recall@1, recall@5"},
		{"a minimum in percent", []string{corpus, queries, "--min", "recall@1=50"}, "and a value from 0 to 1"},
		{"a minimum that is not a number", []string{corpus, queries, "--min", "recall@1=NaN"}, "and a value from 0 to 1"},
		{"a skill that is not in the corpus", []string{corpus, filepath.Join(dir, "other.jsonl")},
			"other.jsonl:1: skill kitchen.tea is not in the corpus"},
		{"a query without skills", []string{corpus, filepath.Join(dir, "bare.jsonl")},
			"bare.jsonl:1: expected query and at least one id in skill_ids"},
		{"no query", []string{corpus, filepath.Join(dir, "empty.jsonl")}, "empty.jsonl: contains no queries"},
		{"no skill", []string{filepath.Join(dir, "empty.jsonl"), queries}, "empty.jsonl: contains no skills"},
		{"a corpus of tools", []string{filepath.Join(dir, "tool.jsonl"), queries}, "tool.jsonl: contains no skills"},
		{"an invalid earlier result", []string{corpus, queries, "--compare", filepath.Join(dir, "bare.jsonl")},
			"expected the JSON of an earlier cairn eval -o json"},
		{"an earlier result of other queries", []string{corpus, queries, "--compare", filepath.Join(dir, "before.json")},
			"expected a result of the same 3 queries, got one of 7"},
		{"one file", []string{corpus}, "expected CORPUS and QUERIES"},
	}, "eval")
}

// TestEvalMinimum checks that eval fails when hybrid search is below a minimum, and
// that the quality of search in the examples does not regress.
func TestEvalMinimum(t *testing.T) {
	t.Parallel()
	s := startIsolated(t)
	examples := []string{"eval", "../examples/knowledge/global", "../examples/queries.jsonl", "--url", s.http,
		"--register"}
	if got := do(t, "", append(examples, "--min", "recall@1=0.75,recall@5=0.8", "--min",
		"ndcg@10=0.8")...); got.code != 0 ||
		!regexp.MustCompile(`(?m)^  ± +0\.\d{4} .*$`).MatchString(got.out) {
		t.Errorf("the examples: %+v", got)
	}
	corpus, queries := judgements(t)
	got := do(t, "", "eval", corpus, queries, "--url", s.http, "--register", "--min", "recall@1=0.5,recall@5=0.7",
		"-ojson")
	if got.code != 1 || got.err != "cairn: hybrid: recall@5 is 0.6667, below the minimum of 0.7\n" ||
		!strings.HasPrefix(got.out, "{") {
		t.Errorf("below a minimum: %+v", got)
	}
}

// flakyServer is a server that reports a corpus as indexed only after several
// registrations, and replies to searches with answer. answer gets the search method and
// the number of earlier searches.
type flakyServer struct {
	answer                        func(search string, before int32) (status int, body string)
	registered, resolved, removed atomic.Int32
}

func (c *flakyServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/health":
		_, _ = io.WriteString(w, `{"status":"ok","services":[{"service":"resolve","backends":{"embed":"e"}}]}`)
	case r.Method == http.MethodDelete:
		if c.removed.Add(1) == 1 || r.URL.Query().Get("tenant_id") == "" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	case r.URL.Path == "/records":
		for records := json.NewDecoder(r.Body); records.More(); {
			var record schemas.BulkRecord
			if err := records.Decode(&record); err != nil {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			_, _ = fmt.Fprintf(w, `{"kind":%q,"id":%q,"indexed":%t}`+"\n", record.Kind, record.ID, c.registered.Add(1) >= 5)
		}
	case c.registered.Load() < 5:
		w.WriteHeader(http.StatusTeapot) // a search before the corpus is searchable
	default:
		var q struct{ Search string }
		_ = json.NewDecoder(r.Body).Decode(&q)
		status, body := c.answer(q.Search, c.resolved.Add(1)-1)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func (c *flakyServer) start(t *testing.T) (url string) {
	return serving(t, c.ServeHTTP)
}

const (
	soundAnswer    = `{"skills":[{"skill_id":"garden.roses"}]}`
	degradedAnswer = `{"skills":[{"skill_id":"kitchen.soup"}],"degraded":"text-only"}`
	noVectors      = `{"code":"CE-011","status":503,"title":"dependency unavailable"}`
)

// TestEvalRetries checks that eval waits until the corpus is searchable,
// reports failed and degraded responses, and retries the removal of the corpus.
func TestEvalRetries(t *testing.T) {
	t.Parallel()
	corpus, queries := judgements(t)
	c := &flakyServer{answer: func(search string, before int32) (int, string) {
		switch {
		case search == "text" && before == 3:
			return 500, `{"code":"CE-010","status":500,"title":"internal error"}`
		case search == "vector":
			return 503, noVectors
		case search == "hybrid":
			return 200, degradedAnswer
		}
		return 200, soundAnswer
	}}
	got := do(t, "", "eval", corpus, queries, "--url", c.start(t), "--register", "--retry-timeout", "0s")
	for _, want := range []string{
		`text .* 0 +0 +1\n`, `vector .* - +- +0 +0 +3\n`, `hybrid .* - +- +0 +3 +0\n`,
		`First hybrid search: 3 answers were degraded or unavailable`,
		`3 of 3 answers of hybrid search are text-only because the embedding model did not respond in time.*\n.*Reduce --at-once, or increase query_timeout`,
	} {
		if !regexp.MustCompile(want).MatchString(got.out) {
			t.Errorf("%s\nhas not %s", got.out, want)
		}
	}
	if got.code != 1 || !strings.Contains(got.err, "text: 1 of 3 queries failed, for example: ") {
		t.Errorf("%+v", got)
	}
	if n := c.resolved.Load(); n != 12 {
		t.Errorf("%d searches; want 12, no retries", n)
	}
	if c.registered.Load() != 8 || c.removed.Load() != 4 {
		t.Errorf("registered %d times and removed %d times; want 8 and 4", c.registered.Load(), c.removed.Load())
	}
}

// TestEvalRetriesDegraded checks that eval retries degraded responses until they are complete.
func TestEvalRetriesDegraded(t *testing.T) {
	t.Parallel()
	corpus, queries := judgements(t)
	c := &flakyServer{answer: func(search string, before int32) (int, string) {
		switch {
		case before < 4: // the first response to each query, and one failed retry
			return 200, degradedAnswer
		case search == "vector" && before == 10:
			return 503, noVectors
		}
		return 200, soundAnswer
	}}
	got := do(t, "", "eval", corpus, queries, "--url", c.start(t), "--register", "-ojson")
	var result evalOutput
	if err := json.Unmarshal([]byte(got.out), &result); err != nil || got.code != 0 {
		t.Fatalf("%v, %+v", err, got)
	}
	if result.First.Short != 3 || result.Vector.Short != 1 || result.Hybrid.Short != 0 {
		t.Errorf("%d, %d and %d answers were short at first; want 3, 1 and 0", result.First.Short, result.Vector.Short,
			result.Hybrid.Short)
	}
	for method, m := range map[string]evalMethod{"text": result.Text, "vector": result.Vector, "hybrid": result.Hybrid} {
		if m.Degraded+m.Failed > 0 || m.All.Recall1 != 2./3 {
			t.Errorf("%s: %+v", method, m)
		}
	}
}
