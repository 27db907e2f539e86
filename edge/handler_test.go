package edge

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"cairn/bus/admission"
)

// TestPanics adds a route that panics.
func TestPanics(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		answer func(*exchange) error
		status int // 0: the connection is closed
		logged string
	}{
		{"before the response", func(*exchange) error { panic("oh no") }, 500, "oh no"},
		{"within the response", func(x *exchange) error {
			x.w.Header().Set("Content-Length", "10")
			x.write(200, nil, []byte("half"))
			panic("oh no")
		}, 0, "oh no"},
		{"http.ErrAbortHandler", func(*exchange) error { panic(http.ErrAbortHandler) }, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var lines bytes.Buffer
			e := newHandler(t.Context(), t.Context(), Config{Log: slog.New(slog.NewTextHandler(&lines, nil))})
			r := get("/panic", action{answer: c.answer})
			e.table[e.mux.Path(r.Path).Methods(r.Method)] = &r
			server := httptest.NewServer(e)
			status, body := getFrom(t, server, "/panic")
			server.Close() // waits for the handler
			if status != c.status || status == 500 && !strings.Contains(body, "CE-010") || strings.Contains(body, "oh no") {
				t.Errorf("%d %q, want %d", status, body, c.status)
			}
			if got := lines.String(); strings.Contains(got, "request_id=") != (c.logged != "") ||
				!strings.Contains(got, c.logged) {
				t.Errorf("logged %q", got)
			}
		})
	}
}

// memoryRecorder records the memory for bodies that is held when the response begins.
type memoryRecorder struct {
	*httptest.ResponseRecorder
	e    *edge
	held int64
}

// WriteHeader implements http.ResponseWriter.
func (r *memoryRecorder) WriteHeader(status int) {
	r.held = r.e.bodies.Used()
	r.ResponseRecorder.WriteHeader(status)
}

// TestRefusalsHoldNoMemory refuses requests whose bodies have arrived.
func TestRefusalsHoldNoMemory(t *testing.T) {
	t.Parallel()
	full := admission.NewPool(1)
	full.Acquire("", 1)
	e := newHandler(t.Context(), t.Context(), Config{Log: slog.New(slog.DiscardHandler), streams: full})
	e.edge.messages = admission.NewQueue(0)
	for _, path := range []string{"/api/v1/analyze", "/records", "/mcp"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost"+path,
			strings.NewReader(`{"query":"q"}`))
		w := &memoryRecorder{httptest.NewRecorder(), e.edge, -1}
		e.ServeHTTP(w, r)
		if w.Code != http.StatusServiceUnavailable || w.held != 0 {
			t.Errorf("%s: got %d with %d bytes of memory held, want 503 with none", path, w.Code, w.held)
		}
	}
}

// getFrom returns the response to a GET request; status 0 if it is incomplete.
func getFrom(t *testing.T, server *httptest.Server, path string) (int, string) {
	t.Helper()
	res, err := server.Client().Get(server.URL + path)
	if err != nil {
		return 0, ""
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, ""
	}
	return res.StatusCode, string(body)
}
