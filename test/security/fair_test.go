package security

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/test/cairntest"
	"cairn/test/wait"
)

const deadline = 30 * time.Second

// caller sends requests with an API key of one tenant.
type caller struct {
	url, key string
}

func newCaller(t *testing.T, p *cairntest.Process, tenant, role string) caller {
	t.Helper()
	return caller{p.URL(), cairntest.CreateKey(t, p.NATS(), "--tenant", tenant, "--role", role)}
}

// post returns the status and the body of the whole response.
func (c caller) post(t *testing.T, path, body string) (int, string) {
	t.Helper()
	res, text := do(t, http.MethodPost, c.url+path, c.key, body)
	return res.StatusCode, text
}

const heldQuestion = `{"query":"how many hosts?","context":"{\"hosts\":[{\"name\":\"a\"}]}","target":"H","on_disconnect":"continue"}`

// hold opens an analysis and returns once it has sent an event, or was refused
// with another status than 200.
func (c caller) hold(t *testing.T) (status int, header http.Header, hangUp func()) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.url+"/api/v1/analyze",
		strings.NewReader(heldQuestion))
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+c.key)
	res, err := http.DefaultClient.Do(req)
	must(t, err)
	if res.StatusCode == http.StatusOK {
		if _, err := bufio.NewReader(res.Body).ReadString('\n'); err != nil {
			t.Fatalf("the stream has no event: %v", err)
		}
	}
	return res.StatusCode, res.Header, func() { _ = res.Body.Close() }
}

func TestDisconnectDoesNotBypassStreamLimit(t *testing.T) {
	t.Parallel()
	model := cairntest.NewSlowModel(t, "word ")
	p := cairntest.Up(t, "--auth", "keys", "--stream-limit", "2", "--model", model.URL)
	c := newCaller(t, p, "acme", "analyst")
	for range 2 {
		status, _, hangUp := c.hold(t)
		if status != http.StatusOK {
			t.Fatalf("an analysis within the limit: got %d", status)
		}
		hangUp()
	}
	// The edge may still count the open connections; then the worker counts the runs.
	wait.Until(t, "the worker counts the abandoned runs", func() bool {
		res, text := do(t, http.MethodPost, p.URL()+"/api/v1/analyze", c.key, heldQuestion)
		if res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") == "" {
			t.Fatalf("a third analysis while two abandoned ones are in progress: got %d, want 429 with Retry-After",
				res.StatusCode)
		}
		return strings.Contains(text, "AN-429") && strings.Contains(text, "in progress")
	})
	model.Release()
	wait.Until(t, "an analysis is answered after the runs have ended", func() bool {
		status, _ := c.post(t, "/api/v1/analyze", heldQuestion)
		return status == http.StatusOK
	})
}

func TestRunFairness(t *testing.T) {
	t.Parallel()
	model := cairntest.NewSlowModel(t, "word ")
	defer model.Release() // the process drains before it stops
	p := cairntest.Up(t, "--auth", "keys", "--model", model.URL, "--slots", "64", "--analysis-memory", "64")
	noisy, quiet := newCaller(t, p, "acme", "analyst"), newCaller(t, p, "globex", "analyst")
	refused := false
	for range 200 {
		status, header, hangUp := noisy.hold(t)
		t.Cleanup(hangUp)
		if refused = status != http.StatusOK; refused {
			if status != http.StatusServiceUnavailable && status != http.StatusTooManyRequests ||
				header.Get("Retry-After") == "" {
				t.Errorf("a tenant that exceeds its share: got %d, want 503 or 429 with Retry-After", status)
			}
			break
		}
	}
	if !refused {
		t.Error("one tenant holds 200 runs, and none was refused")
	}
	for i := range 3 {
		status, _, hangUp := quiet.hold(t)
		t.Cleanup(hangUp)
		if status != http.StatusOK {
			t.Errorf("run %d of another tenant: got %d, want 200", i+1, status)
		}
	}
}

func TestSlotFairness(t *testing.T) {
	t.Parallel()
	const slots = 16
	released := make(chan struct{})
	mux := http.NewServeMux()
	for path, reply := range map[string]string{
		"/api/show": `{"capabilities":["embedding"],"model_info":{}}`,
		"/api/tags": `{"models":[{"name":"slow","model":"slow","digest":"1"}]}`,
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, reply) })
	}
	mux.HandleFunc("/api/embed", func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), "slow search") { // not the health check
			select {
			case <-released:
			case <-r.Context().Done():
			}
		}
		_, _ = io.WriteString(w, `{"embeddings":[[1,0]]}`)
	})
	embedder := httptest.NewServer(mux)
	defer embedder.Close()
	var sending sync.WaitGroup
	defer sending.Wait()
	defer close(released)
	p := cairntest.Up(t, "--auth", "keys", "--slots", fmt.Sprint(slots), "--embed",
		"ollama://"+strings.TrimPrefix(embedder.URL, "http://")+"/slow")
	noisy, quiet := newCaller(t, p, "acme", "registrar"), newCaller(t, p, "globex", "registrar")
	statuses := make(chan int, 10*slots)
	for i := range 10 * slots {
		sending.Go(func() {
			status, _ := noisy.post(t, "/resolve/skill", fmt.Sprintf(`{"query":"slow search %d"}`, i))
			statuses <- status
		})
	}
	select {
	case status := <-statuses:
		if status != http.StatusServiceUnavailable {
			t.Errorf("a search that exceeds the share of its tenant: got %d, want 503", status)
		}
	case <-time.After(deadline):
		t.Error("one tenant holds every slot, and nothing was refused")
	}
	for i := range 20 {
		if status, text := quiet.post(t, "/resolve/tools", `{"tool_ids":["a.b.c"]}`); status != http.StatusNotFound {
			t.Fatalf("request %d of another tenant: got %d %s, want 404 for a tool that does not exist", i+1, status, text)
		}
	}
}
