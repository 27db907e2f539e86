package browser

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"cairn/test/cairntest"
)

// scriptedModel is an Ollama server. It calls compute_stats, which counts the hosts by site,
// and then says the words of the question after "say:". At the word "(wait)" it waits until
// Release, and at "(forever)" until the request is canceled; in place of "(wrong)" it
// says 4711.
type scriptedModel struct {
	url      string
	release  chan struct{}
	released sync.Once
	canceled chan struct{} // receives for each canceled request
}

func newModel(t *testing.T) *scriptedModel {
	t.Helper()
	m := &scriptedModel{release: make(chan struct{}), canceled: make(chan struct{}, 10)}
	server, url := cairntest.StartModel(m.chat)
	m.url = url
	t.Cleanup(func() {
		m.Release()
		server.Close()
	})
	return m
}

// Release ends all waits.
func (m *scriptedModel) Release() { m.released.Do(func() { close(m.release) }) }

func (m *scriptedModel) chat(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Messages []struct{ Role, Content string }
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	say, called := "", false
	for _, message := range request.Messages {
		switch message.Role {
		case "user":
			_, say, _ = strings.Cut(message.Content, "say:")
			called = false
		case "tool":
			called = true
		}
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	if !called {
		call := map[string]any{"function": map[string]any{"index": 0, "name": "compute_stats",
			"arguments": map[string]any{"data_key": "hosts", "group_by": "site", "metrics": []string{"count"}}}}
		cairntest.WriteLine(w, map[string]any{"message": map[string]any{"role": "assistant", "tool_calls": []any{call}}})
	} else if !m.answer(w, r, say) {
		return
	}
	cairntest.WriteLine(w, map[string]any{"done": true, "done_reason": "stop", "prompt_eval_count": 100, "eval_count": 20})
}

// answer streams the words; false when the request is canceled.
func (m *scriptedModel) answer(w http.ResponseWriter, r *http.Request, say string) bool {
	for _, word := range strings.SplitAfter(strings.TrimSpace(say), " ") {
		release := m.release
		switch strings.TrimSpace(word) {
		case "(forever)":
			release = nil
		case "(wait)":
		case "(wrong)": // a figure that is in no result, nor in the question
			word = "4711 "
			fallthrough
		default:
			cairntest.WriteLine(w, map[string]any{"message": map[string]any{"role": "assistant", "content": word}})
			continue
		}
		select {
		case <-release:
		case <-r.Context().Done():
			m.canceled <- struct{}{}
			return false
		}
	}
	return true
}
