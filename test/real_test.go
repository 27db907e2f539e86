package test

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

const (
	elasticVariable = "CAIRN_TEST_ELASTICSEARCH" // URL of an Elasticsearch 8
	ollamaVariable  = "CAIRN_TEST_OLLAMA"        // URL of an Ollama with the models scripted, scripted-embed and minilm
	// Vectors of scripted-embed for words that nobody has are like others by
	// chance: 5 of 1,500 have a cosine above 0.2 to a query that has nothing to
	// do with them, none has one of 0.35. What is to be found has 0.43 or more.
	scriptedFloor = "0.35"
)

// onRealBackends are the ways to run Cairn with the index in Elasticsearch and
// the embedder and the model at Ollama.
var onRealBackends = []topology{{"one process and its backends", real(together)}, {"many processes and their backends", real(apart)}}

// systems are what a test is about: Cairn on real backends where its name says
// so, as below TestRealBackends, else Cairn that needs no server.
func systems(t testing.TB) []topology {
	if onReal(t) {
		return onRealBackends
	}
	return topologies
}

func onReal(t testing.TB) bool { return strings.HasPrefix(t.Name(), "TestReal") }

// TestRealBackends asks the rows of the contracts of Cairn on real backends.
// Left to the embedded system are the analyses whose figures the offline model
// finds, and what has to do with no backend.
func TestRealBackends(t *testing.T) {
	needServers(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"tags", TestTagLifecycle},
		{"registration of all kinds", TestRegisterAllKinds},
		{"unregistration", TestUnregister},
		{"registration again", TestRegisterAgain},
		{"registrations that are refused", TestRefusedRegistrations},
		{"records that are taken", TestRecordsThatAreTaken},
		{"search", TestSearch},
		{"scores", TestSearchScores},
		{"tenants in search", TestSearchTenants},
		{"packages", TestSkillPackage},
		{"parts of a skill", TestPartsOfASkill},
		{"guardrails", TestGuardrailsForEveryone},
		{"tenants", TestTenants},
		{"tools", TestTools},
		{"listings", TestListings},
		{"tenant isolation", TestTenantIsolation},
		{"pages", TestPagesAreStableUnderWrites},
		{"reads see writes", TestReadsSeeWrites},
		{"revisions", TestRevisions},
		{"subjects", TestSubjects},
		{"restart", TestRestart},
		{"a worker that joins", TestWorkerJoins},
		{"workers that are killed", TestWorkersKilledUnderLoad},
		{"analyses that are refused", TestRefusedAnalyses},
		{"an analysis on the bus", TestAnalysisOnTheBus},
		{"numbers of events", TestEventsAreNumbered},
		{"analysis", testScriptedAnalysis},
		{"health", testRealHealth},
	} {
		t.Run(test.name, test.run)
	}
}

// testScriptedAnalysis has the model at Ollama call both tools.
func testScriptedAnalysis(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		events := c.analyze(t, question("Which server is busiest?", `{"servers":[{"name":"web-1","cpu_percent":12},{"name":"web-2","cpu_percent":91.5}]}`))
		inOrder(t, kindsOf(events))
		uses := strings.Join(all(events, "tool_use"), "\n")
		for _, tool := range []string{"inspect_schema", "compute_stats"} {
			if !strings.Contains(uses, tool) {
				t.Errorf("the tools used are %s, want %s among them", uses, tool)
			}
		}
		if got := said(t, events); !strings.Contains(got, "48.25") {
			t.Errorf("the answer is %q", got)
		}
	})
}

func testRealHealth(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		c.put(t, [2]string{"skill", `{"skill_id":"$.a"}`})
		soon(t, "nothing is left to be indexed", patient, func() bool {
			h := c.health(t)
			return h.Status == "ok" && h.level() && h.index().Documents["skill"] > 0
		})
		if h := c.health(t); !strings.Contains(h.Services[2].Backends["embed"], "scripted-embed") || strings.Contains(h.Services[2].Backends["index"], "embedded") {
			t.Errorf("the backends are %v", h.Services[2].Backends)
		}
	})
}

// ready waits until the indices of a system on real backends are made, which
// takes a busy Elasticsearch seconds.
func ready(t testing.TB, c *client) *client {
	t.Helper()
	if onReal(t) {
		soon(t, "the indices are made", patient, func() bool { return c.health(t).index().Live != "" })
	}
	return c
}

// needServers skips where no real backends are named.
func needServers(t testing.TB) {
	t.Helper()
	for _, name := range []string{elasticVariable, ollamaVariable} {
		if os.Getenv(name) == "" {
			t.Skipf("needs %s, the URL of a server", name)
		}
	}
}

func elasticURL() string { return strings.TrimRight(os.Getenv(elasticVariable), "/") }

// ollamaURL is what Cairn calls a model at the server.
func ollamaURL(server, model string) string {
	return "ollama://" + strings.TrimPrefix(strings.TrimRight(server, "/"), "http://") + "/" + model
}

// real starts systems on real backends.
func real(start func(setup) (*system, error)) func(setup) (*system, error) {
	return func(c setup) (*system, error) {
		server := os.Getenv(ollamaVariable)
		c.index = cmp.Or(c.index, elasticURL()+"?prefix="+prefixOf(c))
		c.embed = cmp.Or(c.embed, ollamaURL(server, "scripted-embed?floor="+scriptedFloor))
		c.model = cmp.Or(c.model, ollamaURL(server, "scripted"))
		return start(c)
	}
}

// ourIndices begins the names of all indices that these tests make.
var (
	ourIndices  = "cairn-test-" + word()
	madeIndices atomic.Bool
)

// prefixOf begins the names of a system's indices. A system on the data of
// another one has its indices, too.
func prefixOf(c setup) string {
	madeIndices.Store(true)
	if c.data == "" {
		return ourIndices + "-" + word()
	}
	sum := sha256.Sum256([]byte(c.data))
	return ourIndices + "-" + hex.EncodeToString(sum[:6])
}

// removeIndices removes what was made in Elasticsearch. It takes names, no
// patterns, to remove indices.
func removeIndices() error {
	if !madeIndices.Load() {
		return nil
	}
	defer http.DefaultClient.CloseIdleConnections()
	res, err := http.Get(elasticURL() + "/_cat/indices/" + ourIndices + "-*?h=index")
	if err != nil {
		return fmt.Errorf("list indices of tests: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	var names []string
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		names = append(names, strings.TrimSpace(lines.Text()))
	}
	for some := range slices.Chunk(names, 20) {
		if err := removeIndex(strings.Join(some, ",")); err != nil {
			return err
		}
	}
	return nil
}

func removeIndex(names string) error {
	req, err := http.NewRequest(http.MethodDelete, elasticURL()+"/"+names, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("remove indices of tests: %w", err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("remove %s: %s", names, res.Status)
	}
	return nil
}
