package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// queryWriter is an Ollama server whose model answers every message with the queries.
func queryWriter(t *testing.T, queries string) (url string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/show", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"model_info":{},"capabilities":["completion","tools"]}`)
	})
	mux.HandleFunc("POST /api/chat", func(w http.ResponseWriter, _ *http.Request) {
		text, _ := json.Marshal(queries)
		_, _ = fmt.Fprintf(w, `{"message":{"role":"assistant","content":%s},"done":true,"done_reason":"stop"}`+"\n", text)
	})
	server := serving(t, mux.ServeHTTP)
	return "ollama://" + strings.TrimPrefix(server, "http://") + "/writer"
}

func TestExpand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "skills.yaml")
	write(t, dir, "skills.yaml",
		"# roses\nskill_id: garden.roses\npurpose: prune roses\n---\ntool_id: garden.tools.scissors\n")
	got := do(t, "", "expand", file, "--model", queryWriter(t, `["zyzzogeton quagga"]`))
	if got.code != 0 || got.out != "skill/garden.roses: 1 queries\n" {
		t.Fatalf("%+v", got)
	}
	want := "# roses\nskill_id: garden.roses\nexample_queries:\n  - \"zyzzogeton quagga\"\npurpose: prune roses\n" +
		"---\ntool_id: garden.tools.scissors\n"
	if text := readFile(t, file); text != want {
		t.Errorf("got %q, want %q", text, want)
	}
}

func TestExpandRejects(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "skill.json", `{"skill_id": "garden.roses"}`)
	file := filepath.Join(dir, "skill.json")
	for _, row := range []struct{ name, model, want string }{
		{"no model", "", "--model"},
		{"the offline planner", "offline:", "--model: expected the URL"},
		{"an answer without queries", queryWriter(t, "no"), "skill.json:1: no JSON array of strings"},
	} {
		got := do(t, "", "expand", file, "--model", row.model)
		if got.code == 0 || !strings.Contains(got.err, row.want) {
			t.Errorf("%s: %+v, want %q", row.name, got, row.want)
		}
	}
}
