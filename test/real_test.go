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

	"cairn/test/wait"
)

const (
	elasticVariable = "CAIRN_TEST_ELASTICSEARCH" // URL of an Elasticsearch 8
	ollamaVariable  = "CAIRN_TEST_OLLAMA"        // URL of an Ollama with the models scripted, scripted-embed and minilm
	// Vectors of scripted-embed for random words are similar by chance: 5 of 1,500
	// have a cosine above 0.2 to an unrelated query, none above 0.35. The records to
	// find have at least 0.43.
	scriptedFloor = "0.35"
)

// onRealBackends are the topologies with the index in Elasticsearch and the
// embedder and the model in Ollama.
var onRealBackends = []topology{{"one process and its backends", withRealBackends(inProcess)},
	{"many processes and their backends", withRealBackends(multiProcess)}}

// systems returns the topologies of a test: with real backends if its name starts with TestReal,
// otherwise without external servers.
func systems(t testing.TB) []topology {
	if onReal(t) {
		return onRealBackends
	}
	return topologies
}

func onReal(t testing.TB) bool { return strings.HasPrefix(t.Name(), "TestReal") }

// TestRealBackends runs tests of the contracts with real backends. It excludes analyses
// that need the offline model, and tests without a backend.
func TestRealBackends(t *testing.T) {
	needServers(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"registration of all kinds", TestRegisterAllKinds},
		{"unregistration", TestUnregister},
		{"registration again", TestReregister},
		{"search", TestSearch},
		{"scores", TestSearchScores},
		{"tenants in search", TestSearchTenants},
		{"kinds in search", TestToolsDoNotAffectSkillSearch},
		{"packages", TestSkillPackage},
		{"tenants", TestTenants},
		{"tenant isolation", TestTenantIsolation},
		{"consistency of reads", TestReadYourWrites},
		{"revisions", TestRevisions},
		{"subjects", TestSubjects},
		{"restart", TestRestart},
		{"a joining worker", TestWorkerJoins},
		{"an analysis over NATS", TestAnalysisOverNATS},
		{"analysis", testScriptedAnalysis},
		{"health", testRealHealth},
	} {
		t.Run(test.name, test.run)
	}
}

// testScriptedAnalysis expects the model in Ollama to call both tools.
func testScriptedAnalysis(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		events := c.analyze(t, question("Which server is busiest?",
			`{"servers":[{"name":"web-1","cpu_percent":12},{"name":"web-2","cpu_percent":91.5}]}`))
		inOrder(t, kindsOf(events))
		uses := strings.Join(all(events, "tool_use"), "\n")
		for _, tool := range []string{"inspect_schema", "compute_stats"} {
			if !strings.Contains(uses, tool) {
				t.Errorf("the tools used are %s, want %s", uses, tool)
			}
		}
		if got := textOf(t, events); !strings.Contains(got, "48.25") {
			t.Errorf("the answer is %q", got)
		}
	})
}

func testRealHealth(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		c.put(t, [2]string{"skill", `{"skill_id":"$.a"}`})
		wait.Until(t, "the index has caught up", func() bool {
			h := c.health(t)
			return h.Status == "ok" && h.caughtUp() && h.index().Documents["skill"] > 0
		})
		if h := c.health(t); !strings.Contains(h.Services[2].Backends["embed"], "scripted-embed") ||
			strings.Contains(h.Services[2].Backends["index"], "embedded") {
			t.Errorf("the backends are %v", h.Services[2].Backends)
		}
	})
}

// ready waits until the indices of a system with real backends exist, which takes
// a busy Elasticsearch seconds.
func ready(t testing.TB, c *client) *client {
	t.Helper()
	if onReal(t) {
		wait.Until(t, "the indices exist", func() bool { return c.health(t).index().Live != "" })
	}
	return c
}

// needServers skips the test unless the URLs of the real backends are set.
func needServers(t testing.TB) {
	t.Helper()
	for _, name := range []string{elasticVariable, ollamaVariable} {
		if os.Getenv(name) == "" {
			t.Skipf("needs %s, the URL of a server", name)
		}
	}
}

func elasticURL() string { return strings.TrimRight(os.Getenv(elasticVariable), "/") }

// ollamaURL returns the URL by which Cairn addresses a model of the server.
func ollamaURL(server, model string) string {
	return "ollama://" + strings.TrimPrefix(strings.TrimRight(server, "/"), "http://") + "/" + model
}

// withRealBackends returns start with real backends.
func withRealBackends(start func(setup) (*system, error)) func(setup) (*system, error) {
	return func(c setup) (*system, error) {
		server := os.Getenv(ollamaVariable)
		c.index = cmp.Or(c.index, elasticURL()+"?prefix="+prefixOf(c))
		c.embed = cmp.Or(c.embed, ollamaURL(server, "scripted-embed?floor="+scriptedFloor))
		c.model = cmp.Or(c.model, ollamaURL(server, "scripted?plan=tools&answers=forwarded"))
		return start(c)
	}
}

// indexPrefix is the prefix of all indices of this test run.
var (
	indexPrefix    = "cairn-test-" + word()
	indicesCreated atomic.Bool
)

// prefixOf returns the index prefix of a system. Systems with the same data directory
// have the same indices.
func prefixOf(c setup) string {
	indicesCreated.Store(true)
	if c.data == "" {
		return indexPrefix + "-" + word()
	}
	sum := sha256.Sum256([]byte(c.data))
	return indexPrefix + "-" + hex.EncodeToString(sum[:6])
}

// removeIndices removes the indices of this test run by name: wildcards could
// remove others.
func removeIndices() error {
	if !indicesCreated.Load() {
		return nil
	}
	defer http.DefaultClient.CloseIdleConnections()
	res, err := http.Get(elasticURL() + "/_cat/indices/" + indexPrefix + "-*?h=index")
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
