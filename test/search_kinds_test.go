package test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"cairn/test/wait"
)

// TestToolsDoNotAffectSkillSearch compares ids and scores of skill searches before
// and after 10,000 tools with similar words are registered.
func TestToolsDoNotAffectSkillSearch(t *testing.T) {
	t.Parallel()
	testToolsDoNotAffectSkillSearch(t)
}

// TestRealToolsDoNotAffectSkillSearch is not parallel: it overloads the index,
// which makes requests of other tests time out.
func TestRealToolsDoNotAffectSkillSearch(t *testing.T) {
	needServers(t)
	testToolsDoNotAffectSkillSearch(t)
}

func testToolsDoNotAffectSkillSearch(t *testing.T) {
	skills, queries := toolE(t, "corpus.jsonl"), toolE(t, "queries-dev.jsonl")[:200]
	c := newClient(t, start(t, systems(t)[0], setup{embed: "lexical:"}))
	c.registerAll(t, "skill", len(skills), func(i int) string { return `{"record":` + skills[i] + `}` })
	without := c.searchAll(t, queries)
	c.registerAll(t, "tool", 10_000, func(i int) string {
		words := strings.Fields(queries[i%len(queries)])
		return fmt.Sprintf(`{"tool_data":{"tool_id":"a.b.c%d","purpose":%q}}`, i,
			strings.Join(words[:min(len(words), 8)], " "))
	})
	if diff := cmp.Diff(without, c.searchAll(t, queries)); diff != "" {
		t.Errorf("-without +with tools\n%s", diff)
	}
}

// toolE returns the lines of a file of the evaluation data; of queries, the texts.
func toolE(t testing.TB, name string) []string {
	t.Helper()
	directory := os.Getenv("CAIRN_EVAL")
	if directory == "" {
		t.Skip("CAIRN_EVAL names no directory of evaluation data")
	}
	text, err := os.ReadFile(filepath.Join(directory, "retrieval", "toole", name))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for i, line := range lines {
		var q struct{ Query string }
		if err := json.Unmarshal([]byte(line), &q); err != nil {
			t.Fatal(err)
		}
		if q.Query != "" {
			lines[i] = q.Query
		}
	}
	return lines
}

// registerAll registers n records concurrently and waits until all are indexed.
func (c *client) registerAll(t testing.TB, kind string, n int, body func(i int) string) {
	t.Helper()
	var all errgroup.Group
	all.SetLimit(64)
	for i := range n {
		all.Go(func() error {
			a, err := c.try(t.Context(), "POST /register/"+kind, body(i))
			if err == nil && a.status != 200 {
				err = fmt.Errorf("register %s: %d %s", body(i), a.status, a.body)
			}
			return err
		})
	}
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "all records are indexed", func() bool {
		h := c.health(t)
		return h.Status == "ok" && (!onReal(t) || h.caughtUp() && h.index().Documents[kind] == n)
	})
}

// searchAll returns the hits of each query.
func (c *client) searchAll(t testing.TB, queries []string) (found [][]hit) {
	t.Helper()
	some := 0
	for _, q := range queries {
		var list struct{ Skills []hit }
		a := c.call(t, "POST /resolve/skill", fmt.Sprintf(`{"query":%q,"top_k":10}`, q))
		if err := json.Unmarshal([]byte(a.body), &list); err != nil || a.status != 200 && a.status != 404 {
			t.Fatalf("search for %q: %v %d %s", q, err, a.status, a.body)
		}
		if strings.Contains(a.body, `"degraded"`) {
			t.Errorf("search for %q: %s", q, truncated(a.body))
		}
		found = append(found, list.Skills)
		some += len(list.Skills)
	}
	if some < len(queries) {
		t.Errorf("%d queries find %d skills", len(queries), some)
	}
	return found
}
