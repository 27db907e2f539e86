package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"cairn/test/wait"
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
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return "ollama://" + strings.TrimPrefix(server.URL, "http://") + "/writer"
}

// TestExpand finds a skill by a query that the model wrote, and compares with the result
// before.
func TestExpand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "corpus.jsonl", `{"skill_id": "garden.roses", "purpose": "prune roses"}`)
	write(t, dir, "queries.jsonl", `{"query": "zyzzogeton quagga", "skill_ids": ["garden.roses"]}`)
	corpus, queries := filepath.Join(dir, "corpus.jsonl"), filepath.Join(dir, "queries.jsonl")

	plain := startIsolated(t)
	without := do(t, "", "eval", corpus, queries, "--url", plain.http, "--register", "-ojson")
	if without.code != 0 {
		t.Fatalf("%+v", without)
	}
	write(t, dir, "before.json", without.out)

	s := startIsolated(t, "--model", queryWriter(t, `["zyzzogeton quagga"]`), "--expand")
	if got := do(t, "", "apply", corpus, "--url", s.http); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	wait.Success(t, func() error {
		if got := do(t, "", "search", "zyzzogeton quagga", "--url", s.http); !strings.Contains(got.out, "garden.roses") {
			return fmt.Errorf("%+v", got)
		}
		return nil
	})
	got := do(t, "", "eval", corpus, queries, "--url", s.http, "--compare", filepath.Join(dir, "before.json"))
	if got.code != 0 || !strings.Contains(got.out, "difference\ntext    +1.0000") {
		t.Errorf("%+v; want a difference of 1", got)
	}
	_, history := request(t, "GET", s.http+"/records/skill/garden.roses/history", "")
	if !strings.Contains(history, `"generated_queries":["zyzzogeton quagga"]`) {
		t.Errorf("history %s, want the generated queries", history)
	}
	if _, record := request(t, "GET", s.http+"/records/skill/garden.roses", ""); strings.Contains(record, "zyzzogeton") {
		t.Errorf("the record is %s, want it as registered", record)
	}
}

func TestExpandNeedsAModel(t *testing.T) {
	t.Parallel()
	got := do(t, "", "up", "--http", "127.0.0.1:0", "--nats-listen", "", "--data", "", "--model", "offline:", "--expand")
	if got.code == 0 || !strings.Contains(got.err, "--expand requires a language model: set --model") {
		t.Errorf("%+v", got)
	}
}
