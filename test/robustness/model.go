package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

const (
	// answerWords is the number of words of an answer, one event each.
	answerWords = 60
	// wordInterval is the time between two words, so that faults strike during a run.
	wordInterval = 100 * time.Millisecond
	// modelName is the name of the language model.
	modelName = "words"
)

// languageModel is an OpenAI-compatible server whose answer to every question is the same
// slow sequence of words.
type languageModel struct {
	listener net.Listener
	server   http.Server
	ended    chan error
}

func newLanguageModel() (*languageModel, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &languageModel{listener: listener, ended: make(chan error, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"data":[{"id":%q}]}`, modelName)
	})
	mux.HandleFunc("POST /v1/chat/completions", complete)
	m.server.Handler = mux
	m.server.ReadHeaderTimeout = requestTimeout
	go func() { m.ended <- m.server.Serve(listener) }()
	return m, nil
}

// url returns the URL of the model for "cairn up".
func (m *languageModel) url() string {
	return "openai://" + m.listener.Addr().String() + "/" + modelName + "?plan=tools&answers=forwarded"
}

func (m *languageModel) close() error {
	err := m.server.Close()
	if ended := <-m.ended; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

// answer is the text of every answer.
func answer() string {
	var text strings.Builder
	for n := range answerWords {
		text.WriteString(word(n))
	}
	return text.String()
}

func word(n int) string { return fmt.Sprintf("word%d ", n) }

// complete streams the answer.
func complete(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	chunk := func(delta any, reason string) {
		// strings
		data, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"delta": delta, "finish_reason": reason}}})
		fmt.Fprintf(w, "data: %s\n\n", data)
		_ = http.NewResponseController(w).Flush() // fails when the client has disconnected
	}
	for n := range answerWords {
		chunk(map[string]string{"content": word(n)}, "")
		sleep(r.Context(), wordInterval)
		if r.Context().Err() != nil {
			return
		}
	}
	chunk(struct{}{}, "stop")
	fmt.Fprint(w, "data: [DONE]\n\n")
}
