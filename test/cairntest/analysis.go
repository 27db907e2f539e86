package cairntest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// HeavyAnalysis returns the body of an analysis whose planning by offline: takes seconds of
// CPU time for each of its questions, with the race detector. Each question is a follow-up of
// the one before, and repeats names of the estate's 4,000 fields.
// Bodies with different names share no work.
func HeavyAnalysis(name string, questions int) string {
	var estate strings.Builder
	for a := range 10 {
		fmt.Fprintf(&estate, `,"hosts%d":[{"name":%q`, a, name)
		for f := range 399 {
			fmt.Fprintf(&estate, `,"site_%d_site_%d_cluster_rack_zone":"Oslo"`, a, f)
		}
		estate.WriteString(`}]`)
	}
	question := "and in " + strings.Repeat("site Oslo cluster rack zone ", 48)
	history := map[string]any{}
	for i := range questions - 1 {
		history[strconv.Itoa(2*i)] = map[string]any{"r": 0, "c": question}
		history[strconv.Itoa(2*i+1)] = map[string]any{"r": 1, "c": "It is unclear."}
	}
	body, err := json.Marshal(map[string]any{
		"query": question, "target": "H", "context": "{" + estate.String()[1:] + "}", "prompt": map[string]any{"m": history},
	})
	if err != nil {
		panic(err) // strings and integers always encode
	}
	return string(body)
}

// SlowModel is an Ollama server whose model does not answer until Release is called, so
// that all analyses are in progress at the same time. It may be used concurrently.
type SlowModel struct {
	URL     string     // for --model
	Waiting func() int // returns the number of conversations that the model has received
	Release func()     // may be called more than once
}

// NewSlowModel starts a model that is closed with the test.
func NewSlowModel(t testing.TB) *SlowModel {
	t.Helper()
	var mu sync.Mutex
	var waiting int
	gate := make(chan struct{})
	mux := http.NewServeMux()
	reply := func(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) } // fails when the client has disconnected
	mux.HandleFunc("POST /api/show", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, map[string]any{"model_info": map[string]any{}, "capabilities": []string{"completion", "tools"}})
	})
	mux.HandleFunc("POST /api/chat", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		waiting++
		mu.Unlock()
		select {
		case <-gate:
		case <-r.Context().Done():
			return
		}
		reply(w, map[string]any{"message": map[string]any{"role": "assistant", "content": "Two."}})
		reply(w, map[string]any{"message": map[string]any{"role": "assistant"}, "done": true, "done_reason": "stop"})
	})
	server := httptest.NewServer(mux)
	m := &SlowModel{
		URL:     "ollama://" + strings.TrimPrefix(server.URL, "http://") + "/slow",
		Waiting: func() int { mu.Lock(); defer mu.Unlock(); return waiting },
		Release: sync.OnceFunc(func() { close(gate) }),
	}
	t.Cleanup(server.Close)
	t.Cleanup(m.Release)
	return m
}
