package security

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/test/cairntest"
)

// TestDisconnectFlood has clients of one tenant send large requests and disconnect before
// the response. Another tenant must not be refused, and no NATS connection closed.
func TestDisconnectFlood(t *testing.T) {
	t.Parallel()
	p := cairntest.Up(t, "--auth", "keys")
	noisy, quiet := newCaller(t, p, "acme", "admin"), newCaller(t, p, "globex", "admin")
	hosts := strings.TrimSuffix(strings.Repeat(`{"name":"h","site":"s","cpu":1},`, 150_000), ",")
	analysis, err := json.Marshal(map[string]string{"query": "average cpu per site", "target": "H", "context": `{"hosts":[` + hosts + `]}`})
	if err != nil {
		t.Fatal(err)
	}
	ids := `"` + strings.Repeat(`a.b.c","`, 120_000) + `a.b.c"`
	floods := []string{
		request("/api/v1/analyze", noisy.key, string(analysis)),
		request("/resolve/tools", noisy.key, `{"tool_ids":[`+ids+`]}`),
	}
	stop := make(chan struct{})
	var flooding sync.WaitGroup
	for n := range 16 {
		flooding.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					disconnect(t, p, floods[n%len(floods)])
				}
			}
		})
	}
	defer flooding.Wait()
	defer sync.OnceFunc(func() { close(stop) })()
	for n := range 40 {
		body := fmt.Sprintf(`{"tool_data":{"tool_id":"a.b.c%d","tenant_id":"globex"}}`, n)
		if status, answer := quiet.post(t, "/register/tool", body); status != http.StatusOK {
			t.Errorf("request %d of another tenant: %d %s, want 200", n, status, answer)
		}
		time.Sleep(50 * time.Millisecond)
	}
	if log := p.Stderr.String(); strings.Contains(log, "outbound buffer limit") || strings.Contains(log, "API keys cannot be read") {
		t.Errorf("a NATS connection was closed:\n%.2000s", log)
	}
}

// request returns an HTTP request.
func request(path, key, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", path, key, len(body), body)
}

// disconnect sends the request and closes the connection soon after.
func disconnect(t *testing.T, p *cairntest.Process, text string) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL(), "http://"))
	if err != nil {
		t.Error(err)
		return
	}
	_, _ = conn.Write([]byte(text)) // the server may close the connection first
	time.Sleep(50 * time.Millisecond)
	_ = conn.Close()
}
