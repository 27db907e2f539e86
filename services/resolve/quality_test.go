package resolve_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cairn/services/internal/embed"
)

// TestRealAgentQuality measures how agents are ranked on the public data set in the
// directory CAIRN_EVAL. The bound is 0.01 below the measured value.
func TestRealAgentQuality(t *testing.T) {
	root := os.Getenv("CAIRN_EVAL")
	if root == "" {
		t.Skip("needs CAIRN_EVAL, the directory of the evaluation data")
	}
	directory := filepath.Join(root, "retrieval/livemcp")
	w := newWorld(t)
	for kind, file := range map[string]string{skill: "skills.jsonl", agent: "agents.jsonl"} {
		for _, line := range linesOf(t, filepath.Join(directory, file)) {
			var record map[string]any
			if err := json.Unmarshal([]byte(line), &record); err != nil {
				t.Fatal(err)
			}
			w.put(kind, "", record[kind+"_id"].(string), line)
		}
	}
	e, err := embed.Open(t.Context(), "static:")
	if err != nil {
		t.Fatal(err)
	}
	w.serveWith(e)
	queries := linesOf(t, filepath.Join(directory, "queries-dev.jsonl"))
	var first, recall, ndcg float64
	for _, line := range queries {
		var q struct {
			Query string   `json:"query"`
			Gold  []string `json:"agent_ids"`
		}
		if err := json.Unmarshal([]byte(line), &q); err != nil {
			t.Fatal(err)
		}
		ids, err := w.worker.RankedAgents(w.ctx(), q.Query)
		if err != nil {
			t.Fatal(err)
		}
		var gain, ideal float64
		for i := range 5 {
			if i < len(q.Gold) {
				ideal += 1 / math.Log2(float64(i+2))
			}
			if i < len(ids) && slices.Contains(q.Gold, ids[i]) {
				gain += 1 / math.Log2(float64(i+2))
				recall += 1 / float64(len(q.Gold)*len(queries))
				if i == 0 {
					first += 1 / float64(len(q.Gold)*len(queries))
				}
			}
		}
		ndcg += gain / ideal / float64(len(queries))
	}
	t.Logf("recall@1 %.4f  recall@5 %.4f  nDCG@5 %.4f", first, recall, ndcg)
	if recall < 0.631 {
		t.Error("want recall@5 of 0.631")
	}
}

func linesOf(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(strings.Lines(string(data)))
}
