package security

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"cairn/test/cairntest"
	"cairn/test/wait"
)

// do sends a request with the key, if there is one, and returns the response
// with its body read.
func do(t *testing.T, method, url, key, body string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	must(t, err)
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, text, err := exchange(http.DefaultClient, req)
	must(t, err)
	return res, text
}

// exchange sends a request and returns the response with its body read.
func exchange(client *http.Client, req *http.Request) (*http.Response, string, error) {
	res, err := client.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	return res, string(text), err
}

// gauge returns the value of a metric without labels.
func gauge(t *testing.T, p *cairntest.Process, key, name string) float64 {
	t.Helper()
	res, text := do(t, http.MethodGet, p.URL()+"/metrics", key, "")
	match := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(text)
	if match == nil {
		t.Fatalf("GET /metrics: %d without %s", res.StatusCode, name)
	}
	v, err := strconv.ParseFloat(match[1], 64)
	must(t, err)
	return v
}

// TestIncompleteBodies has 150 clients of one tenant, and 150 without a
// credential, announce 10 MiB each, send 2 MiB and then nothing. The heap stays
// within --body-memory, and another tenant is served.
func TestIncompleteBodies(t *testing.T) {
	t.Parallel()
	const clients, announced, sent = 150, 10 << 20, 2 << 20
	p := cairntest.Up(t, "--auth", "keys", "--body-memory", "64")
	admin := cairntest.CreateKey(t, p.NATS(), "--all-tenants", "--role", "admin")
	acme := cairntest.CreateKey(t, p.NATS(), "--tenant", "acme", "--role", "analyst")
	globex := cairntest.CreateKey(t, p.NATS(), "--tenant", "globex", "--role", "analyst")
	address := strings.TrimPrefix(p.URL(), "http://")

	var mu sync.Mutex
	answers := map[string]int{} // by credential and status
	var sending, reading sync.WaitGroup
	conns := make(chan net.Conn, 2*clients)
	part := make([]byte, sent)
	open := func(name, header string) {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Error(err)
			return
		}
		conns <- conn
		reading.Go(func() {
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				return // closed by the test: the body was still awaited
			}
			_ = res.Body.Close()
			if res.StatusCode == http.StatusServiceUnavailable && res.Header.Get("Retry-After") == "" {
				t.Error("503 without Retry-After")
			}
			mu.Lock()
			answers[fmt.Sprint(name, " ", res.StatusCode)]++
			mu.Unlock()
		})
		_, _ = fmt.Fprintf(conn, "POST /api/v1/analyze HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: %d\r\n\r\n", header,
			announced)
		_, _ = conn.Write(part) // fails on a connection that was refused and closed
	}
	for range clients {
		sending.Go(func() { open("acme", "Authorization: Bearer "+acme+"\r\n") })
		sending.Go(func() { open("none", "") })
	}
	sending.Wait()
	wait.Success(t, func() error {
		mu.Lock()
		defer mu.Unlock()
		if refused, anonymous := answers["acme 503"], answers["none 401"]; anonymous != clients || refused < clients-64/10 {
			return fmt.Errorf("got %d of acme refused, %d without a credential; want at least %d and %d",
				refused, anonymous, clients-64/10, clients)
		}
		return nil
	})
	if res, text := do(t, http.MethodPost, p.URL()+"/api/v1/analyze", globex,
		smallAnalysis); res.StatusCode != http.StatusOK ||
		!strings.Contains(text, "event: done") {
		t.Errorf("another tenant: got %d %s, want an analysis", res.StatusCode, text)
	}
	if heap := gauge(t, p, admin, "go_memstats_heap_sys_bytes"); heap > 400<<20 {
		t.Errorf("the heap took %.0f MiB, want at most 400", heap/(1<<20))
	}
	close(conns)
	for conn := range conns {
		_ = conn.Close()
	}
	reading.Wait()
}

const smallAnalysis = `{"query":"How many pumps are there?","target":"H","context":"{\"pumps\":[{\"id\":\"p1\"},{\"id\":\"p2\"}]}"}`
