package index_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cairn/services/internal/embed"
	"cairn/services/internal/index"
)

// TestRealEmbeddedQuality measures retrieval quality on the public data sets in the
// directory CAIRN_EVAL. The bounds are 0.01 below the measured values.
func TestRealEmbeddedQuality(t *testing.T) {
	t.Parallel()
	for _, set := range []struct {
		embed, name, directory string
		recall, ndcg           float64 // at 5 and at 10, lower bounds
	}{
		{"static:", "Seal-Tools", "retrieval", 0.939, 0.938},
		{"static:", "ToolE", "retrieval/toole", 0.759, 0.671},
		{"lexical:", "Seal-Tools", "retrieval", 0.953, 0.951},
		{"lexical:", "ToolE", "retrieval/toole", 0.651, 0.582},
		{miniLM, "ToolE", "retrieval/toole", 0.795, 0.71},
		{miniLM, "Seal-Tools", "retrieval", 0.945, 0.945},
	} {
		t.Run(set.embed+" "+set.name, func(t *testing.T) {
			directory := evaluation(t, set.directory)
			queries := read[judged](t, filepath.Join(directory, "queries-dev.jsonl"))
			ix := filled(t, embedder(t, set.embed), read[record](t, filepath.Join(directory, "corpus.jsonl")))
			var first, recall, ndcg float64
			for _, q := range queries {
				ids := search(t, ix, q.Query, 10)
				first += q.recall(ids, 1) / float64(len(queries))
				recall += q.recall(ids, 5) / float64(len(queries))
				ndcg += q.ndcg(ids, 10) / float64(len(queries))
			}
			t.Logf("recall@1 %.4f  recall@5 %.4f  nDCG@10 %.4f", first, recall, ndcg)
			if recall < set.recall || ndcg < set.ndcg {
				t.Errorf("want recall@5 of %.3f and nDCG@10 of %.3f", set.recall, set.ndcg)
			}
		})
	}
}

// judged is a query with its relevant skills.
type judged struct {
	Query string   `json:"query"`
	Gold  []string `json:"skill_ids"`
}

func (q judged) recall(ids []string, k int) (share float64) {
	for _, id := range ids[:min(k, len(ids))] {
		if slices.Contains(q.Gold, id) {
			share += 1 / float64(len(q.Gold))
		}
	}
	return share
}

func (q judged) ndcg(ids []string, k int) float64 {
	var gain, ideal float64
	for i := range k {
		place := 1 / math.Log2(float64(i+2))
		if i < len(ids) && slices.Contains(q.Gold, ids[i]) {
			gain += place
		}
		if i < len(q.Gold) {
			ideal += place
		}
	}
	return gain / ideal
}

// record is a skill of the evaluation data.
type record struct {
	ID           string   `json:"skill_id"`
	Name         string   `json:"display_name"`
	Purpose      string   `json:"purpose"`
	Description  string   `json:"description"`
	Capabilities []string `json:"capabilities"`
	Contexts     []string `json:"context_descriptions"`
	Output       string   `json:"output_type"`
}

func (r record) change() index.Change {
	body := slices.Concat([]string{r.Description}, r.Capabilities, r.Contexts, []string{r.Output})
	return index.Change{Revision: 1, Document: index.Document{
		Kind: "skill", ID: r.ID, Status: "active",
		Title: r.Name + ". " + r.Purpose,
		Body:  strings.Join(body, ". "),
	}}
}

func filled(t testing.TB, e embed.Embedder, records []record) index.Index {
	t.Helper()
	ix := open(t, e)
	for batch := range slices.Chunk(records, 50) {
		apply(t, ix, batch)
	}
	return ix
}

func lexical(t testing.TB) embed.Embedder { return embedder(t, "lexical:") }

// miniLM is the embedder all-MiniLM-L6-v2 of the Ollama server at CAIRN_TEST_OLLAMA.
const miniLM = "minilm"

func embedder(t testing.TB, url string) embed.Embedder {
	t.Helper()
	if url == miniLM {
		return openMiniLM(t)
	}
	e, err := embed.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// openMiniLM skips the test where the server or its model is missing.
func openMiniLM(t testing.TB) embed.Embedder {
	t.Helper()
	server, ok := strings.CutPrefix(os.Getenv("CAIRN_TEST_OLLAMA"), "http://")
	if !ok {
		t.Skip("needs CAIRN_TEST_OLLAMA, the URL of an Ollama server with the model minilm")
	}
	e := embedder(t, "ollama://"+server+"/"+miniLM+"?query_timeout=60s")
	if err := e.Check(t.Context()); err != nil {
		t.Skip("the Ollama server has no model minilm: ", err)
	}
	return e
}

func apply(t testing.TB, ix index.Index, records []record) {
	t.Helper()
	changes := make([]index.Change, len(records))
	for i, r := range records {
		changes[i] = r.change()
	}
	if err := ix.Apply(t.Context(), changes); err != nil {
		t.Fatal(err)
	}
}

func search(t testing.TB, ix index.Index, query string, k int) []string {
	t.Helper()
	result, err := ix.Search(t.Context(), index.Query{Kind: "skill", Text: query, TopK: k})
	if err != nil {
		t.Fatal(err)
	}
	return ids(result.Hits)
}

func ids(hits []index.Hit) (all []string) {
	for _, h := range hits {
		all = append(all, h.ID)
	}
	return all
}

func evaluation(t testing.TB, directory string) string {
	t.Helper()
	root := os.Getenv("CAIRN_EVAL")
	if root == "" {
		t.Skip("needs CAIRN_EVAL, the directory of the evaluation data")
	}
	return filepath.Join(root, directory)
}

// read decodes the lines of a file.
func read[T any](t testing.TB, path string) (values []T) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var v T
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		values = append(values, v)
	}
	return values
}
