package security

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cairn/test/cairntest"
	"cairn/test/wait"
)

// client sends requests from one loopback address.
func client(t *testing.T, address string) *http.Client {
	t.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	transport := &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 1024}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 30 * time.Second}
}

// send returns the status and the body of the answer; headers are name-value pairs.
func send(c *http.Client, method, url, body string, headers ...string) (int, string, error) {
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, answer, err := exchange(c, r)
	if err != nil {
		return 0, "", err
	}
	return res.StatusCode, answer, nil
}

// register stores a tool whose description has size bytes.
func register(t *testing.T, c *http.Client, url, id string, size int) {
	t.Helper()
	body := fmt.Sprintf(`{"tool_data":{"tool_id":%q,"tool_class":"c","description":%q}}`, id, strings.Repeat("d", size))
	if status, answer, err := send(c, "POST", url+"/register/tool", body); err != nil || status != 200 {
		t.Fatalf("register: %d %s %v", status, answer, err)
	}
}

// tally counts answers by status; 0 is a transport error. It may be used concurrently.
type tally struct {
	mu    sync.Mutex
	count map[int]int
	other string // one unexpected answer
}

func (c *tally) add(status int, body string, err error, wanted ...int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count == nil {
		c.count = map[int]int{}
	}
	c.count[status]++
	for _, w := range wanted {
		if status == w {
			return
		}
	}
	c.other = fmt.Sprintf("%d %.300s %v", status, body, err)
}

// A flood of requests to routes without a credential does not affect other callers, and
// no probe from another address is refused.
func TestHealthFlood(t *testing.T) {
	t.Parallel()
	up := cairntest.Up(t, "--ard-publisher", "example.com")
	tenant := client(t, "127.0.0.1")
	register(t, tenant, up.URL(), "a.b.c", 900<<10)
	record := `{"public":true,"instructions":"` + strings.Repeat("i", 90<<10) + `"}`
	status, answer, err := send(tenant, "PUT", up.URL()+"/records/skill/a.b", record)
	if err != nil || status != 200 {
		t.Fatalf("register: %d %s %v", status, answer, err)
	}
	flooder, kubelet := client(t, "127.0.0.2"), client(t, "127.0.0.3")
	var flood, tenants, probes tally
	var flooding, others sync.WaitGroup
	var done atomic.Bool
	for i := range 100 {
		path := []string{"/health", "/health/ready", "/docs", "/openapi.json", "/.well-known/ai-catalog.json",
			"/ard/skills/a.b/SKILL.md"}[i%6]
		flooding.Go(func() {
			for !done.Load() {
				status, body, err := send(flooder, "GET", up.URL()+path, "")
				flood.add(status, body, err, 200, 429)
			}
		})
	}
	for range 8 {
		others.Go(func() {
			for range 10 {
				status, body, err := send(tenant, "POST", up.URL()+"/resolve/tool_class", `{"tool_class":"none"}`)
				tenants.add(status, body, err, 404)
			}
		})
	}
	others.Go(func() {
		for range 8 {
			status, body, err := send(kubelet, "GET", up.URL()+"/health/ready", "")
			probes.add(status, body, err, 200)
			time.Sleep(250 * time.Millisecond) // more often than once a second
		}
	})
	others.Wait()
	done.Store(true)
	flooding.Wait()
	t.Logf("flood %v, tenants %v, probes %v", flood.count, tenants.count, probes.count)
	if tenants.other != "" || probes.other != "" || flood.other != "" {
		t.Errorf("tenant: %s; probe: %s; flood: %s", tenants.other, probes.other, flood.other)
	}
}

// A flood of requests for a future revision of the catalog is refused immediately, does not
// affect another tenant, and writes little to the log.
func TestMinRevisionFlood(t *testing.T) {
	t.Parallel()
	up := cairntest.Up(t, "--auth", "keys")
	c := client(t, "127.0.0.1")
	flooder := "Bearer " + cairntest.CreateKey(t, up.NATS(), "--role", "reader", "--tenant", "acme")
	tenant := "Bearer " + cairntest.CreateKey(t, up.NATS(), "--role", "registrar", "--tenant", "globex")
	if status, body, err := send(c, "POST", up.URL()+"/register/tool", `{"tool_data":{"tool_id":"a.b.c"}}`,
		"Authorization",
		tenant); err != nil || status != 200 {
		t.Fatalf("register: %d %s %v", status, body, err)
	}
	before := len(up.Stderr.String())
	var flood, others tally
	var all sync.WaitGroup
	for range 1100 {
		all.Go(func() {
			status, body, err := send(c, "POST", up.URL()+"/resolve/tools", `{"tool_ids":["a.b.c"]}`,
				"Cairn-Min-Revision", "9999999999", "Authorization", flooder)
			if status == 400 && !strings.Contains(body, "Cairn-Min-Revision") {
				err = fmt.Errorf("the error does not name the header")
				status = 0
			}
			flood.add(status, body, err, 400, 503) // 503: more at once than one tenant may have
		})
	}
	for range 4 {
		all.Go(func() {
			for range 50 {
				status, body, err := send(c, "POST", up.URL()+"/resolve/tools", `{"tool_ids":["a.b.c"]}`, "Authorization", tenant)
				others.add(status, body, err, 200)
			}
		})
	}
	all.Wait()
	t.Logf("flood %v, others %v, log %d bytes", flood.count, others.count, len(up.Stderr.String())-before)
	if flood.count[400] == 0 {
		t.Error("no request is refused for its revision")
	}
	if flood.other != "" || others.other != "" {
		t.Errorf("flood: %s; others: %s", flood.other, others.other)
	}
	if grown := len(up.Stderr.String()) - before; grown > 64<<10 {
		t.Errorf("the log grew by %d bytes", grown)
	}
}

// A request for many unknown ids reads one fence, not one per id.
func TestUnknownTools(t *testing.T) {
	t.Parallel()
	up := cairntest.Up(t)
	c := client(t, "127.0.0.1")
	var ids []string
	for i := range 1000 {
		ids = append(ids, fmt.Sprintf("no.such.tool%d", i))
	}
	body, err := json.Marshal(map[string]any{"tool_ids": ids, "tenant_id": "acme"})
	must(t, err)
	var answers tally
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			status, answer, err := send(c, "POST", up.URL()+"/resolve/tools", string(body))
			answers.add(status, answer, err, 404, 503) // 503: shed immediately, on a slow machine
		})
	}
	all.Wait()
	t.Logf("50 at once: %v", answers.count)
	if answers.other != "" || answers.count[404] == 0 {
		t.Errorf("%v: %s", answers.count, answers.other)
	}
}

// Fields of requests are truncated in the log.
func TestLogOfLargeFields(t *testing.T) {
	t.Parallel()
	up := cairntest.Up(t, "--log-level", "debug")
	c := client(t, "127.0.0.1")
	before := len(up.Stderr.String())
	large := strings.Repeat("A", 9<<20)
	body := fmt.Sprintf(`{"id":%q,"target":"H","query":"how many hosts?","context":"{\"hosts\":[{\"name\":\"a\"}]}"}`,
		large)
	if status, answer, err := send(c, "POST", up.URL()+"/api/v1/analyze", body); err != nil || status != 400 {
		t.Errorf("a large id: %d %.200s %v, want 400", status, answer, err)
	}
	body = fmt.Sprintf(`{"target":"H","query":"how many hosts?","context":%q}`, large) // not JSON: status 500 by contract
	if status, answer, err := send(c, "POST", up.URL()+"/api/v1/analyze", body); err != nil || status != 500 {
		t.Errorf("a context that is not JSON: %d %.200s %v, want 500", status, answer, err)
	}
	var log string
	wait.Until(t, "the last request is logged", func() bool {
		log = up.Stderr.String()[before:]
		return strings.Contains(log, "status=500")
	})
	if strings.Contains(log, "level=WARN") || strings.Contains(log, "level=ERROR") {
		t.Errorf("a client error is logged: %.2000s", log)
	}
	t.Logf("log of %d bytes", len(log))
	if len(log) > 64<<10 {
		t.Errorf("the log has %d bytes", len(log))
	}
}

// Analyses write nothing to the log at the default level.
func TestLogOfAnalyses(t *testing.T) {
	t.Parallel()
	up := cairntest.Up(t)
	c := client(t, "127.0.0.1")
	id := strings.Repeat("I", 256)
	before := len(up.Stderr.String())
	for range 20 {
		body := fmt.Sprintf(`{"id":%q,"request_id":%q,"target":"H","query":"how many hosts?","context":"{\"hosts\":[{\"name\":\"a\"}]}"}`, id, id)
		if status, answer, err := send(c, "POST", up.URL()+"/api/v1/analyze", body); err != nil || status != 200 {
			t.Fatalf("%d %.200s %v", status, answer, err)
		}
	}
	must(t, up.Stop())
	if grown := up.Stderr.String()[before:]; len(grown) > 4<<10 || strings.Contains(grown, id[:64]) {
		t.Errorf("logged %d bytes: %.2000s", len(grown), grown)
	}
}

// Client errors are neither logged as warnings nor counted as failures of workers.
func TestClientErrorsAreNotWarnings(t *testing.T) {
	t.Parallel()
	up := cairntest.Up(t)
	c := client(t, "127.0.0.1")
	before := len(up.Stderr.String())
	for _, row := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "/resolve/skill", `{`, 400},
		{"POST", "/resolve/skill", `{"skill_id":"no.such"}`, 404},
		{"POST", "/resolve/tools", `{"tool_ids":[]}`, 400},
		{"POST", "/register/skill", `{"record":{}}`, 400},
		{"POST", "/tags/write", string(bytes.Repeat([]byte("a"), 2<<20)), 413},
		{"POST", "/api/v1/analyze", `{}`, 400},
		{"POST", "/api/v1/analyze", `{"query":"q","target":"H","context":"{"}`, 500},
		{"GET", "/none", "", 404},
		{"PUT", "/health", "", 405},
		{"POST", "/search/playbooks", "", 501},
	} {
		if status, body, err := send(c, row.method, up.URL()+row.path, row.body); err != nil || status != row.status {
			t.Errorf("%s %s: %d %s %v, want %d", row.method, row.path, status, body, err, row.status)
		}
	}
	if grown := up.Stderr.String()[before:]; strings.Contains(grown, "level=WARN") ||
		strings.Contains(grown, "level=ERROR") {
		t.Errorf("logged: %.2000s", grown)
	}
	if got := gauge(t, up, "",
		`cairn_nats_request_duration_seconds_count\{status="400",subject="cairn.analyze"\}`); got != 2 {
		t.Errorf("%v analyses are counted as malformed, want 2", got)
	}
}
