package cairntest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// HeavyAnalysis returns the body of an analysis whose calls take seconds of CPU time, with the race detector.
// Bodies with different names share no work.
func HeavyAnalysis(name string, calls int) string {
	const records = 150_000
	var estate strings.Builder
	fmt.Fprintf(&estate, `{"hosts":[{"name":%q}`, name)
	for i := range records {
		fmt.Fprintf(&estate, `,{"id":%d,"site":"s%d","rack":"r%d","load":%d}`, i, i%977, i%1009, i*7919%records)
	}
	estate.WriteString("]}")
	requested := make([]map[string]any, calls)
	for i := range requested {
		requested[i] = map[string]any{"name": "compute_stats", "input": map[string]any{
			"data_key": "hosts", "group_by": []string{"site", "rack"}, "filter": map[string]any{"id": map[string]any{"gte": i}},
			"metrics": []string{"p95:load", "p50:load", "distinct:id"},
		}}
	}
	body, err := json.Marshal(map[string]any{"target": "H", "context": estate.String(), "calls": requested})
	if err != nil {
		panic(err) // strings and integers always encode
	}
	return string(body)
}

// LargeAnalysis returns the nth body, of at least size bytes, whose estate occurs in no other one.
func LargeAnalysis(n, size int) []byte {
	var estate strings.Builder
	fmt.Fprintf(&estate, `{"n":%d,"hosts":[{"id":"first"}`, n)
	for i := 0; estate.Len() < size*4/5; i++ { // quotes are escaped in the body
		fmt.Fprintf(&estate, `,{"id":"host-%d","site":"site-%d","state":"on","cpu":%d}`, i, i%20, i%64)
	}
	estate.WriteString("]}")
	body, _ := json.Marshal(map[string]string{"query": "How many hosts are there?", "target": "H", // strings always encode
		"context": estate.String()})
	return body
}

// StartModel starts an Ollama server that replies to conversations with chat, and returns its URL for --model. Plans
// are made of tool calls, and answers are forwarded as they come.
func StartModel(chat http.HandlerFunc) (server *httptest.Server, url string) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/show", func(w http.ResponseWriter, _ *http.Request) {
		WriteLine(w, map[string]any{"model_info": map[string]any{}, "capabilities": []string{"completion", "tools"}})
	})
	mux.HandleFunc("POST /api/chat", chat)
	server = httptest.NewServer(mux)
	return server, "ollama://" + strings.TrimPrefix(server.URL, "http://") + "/scripted?plan=tools&answers=forwarded"
}

// WriteLine sends v as a line of a reply. It ignores errors: a client that has disconnected cancels its request.
func WriteLine(w http.ResponseWriter, v any) {
	_ = json.NewEncoder(w).Encode(v)
	_ = http.NewResponseController(w).Flush()
}

// SlowModel is an Ollama server whose answers end when Release is called, so that all analyses are in
// progress at the same time. It may be used concurrently.
type SlowModel struct {
	URL     string     // for --model
	Waiting func() int // returns the number of conversations that the model has received
	Release func()     // may be called more than once
}

// NewSlowModel starts a model that is closed with the test. It sends the first text before Release,
// unless that is empty.
func NewSlowModel(t testing.TB, first string) *SlowModel {
	t.Helper()
	var mu sync.Mutex
	var waiting int
	gate := make(chan struct{})
	server, url := StartModel(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if first != "" {
			WriteLine(w, map[string]any{"message": map[string]any{"role": "assistant", "content": first}})
		}
		mu.Lock()
		waiting++
		mu.Unlock()
		select {
		case <-gate:
		case <-r.Context().Done():
			return
		}
		WriteLine(w, map[string]any{"message": map[string]any{"role": "assistant", "content": "Two."}, "done": true,
			"done_reason": "stop"})
	})
	m := &SlowModel{
		URL:     url,
		Waiting: func() int { mu.Lock(); defer mu.Unlock(); return waiting },
		Release: sync.OnceFunc(func() { close(gate) }),
	}
	t.Cleanup(server.Close)
	t.Cleanup(m.Release)
	return m
}
