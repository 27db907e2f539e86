package security

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"cairn/test/cairntest"
)

// TestFullTagStore fills the tags' share of the storage: further tags are
// refused at once with the reason, the health names the bucket from 80 % on, a
// delete makes room, and registration works throughout.
func TestFullTagStore(t *testing.T) {
	t.Parallel()
	url := cairntest.Up(t, "--storage-limit", "16").URL() // 4 MiB of tags
	if status, body := get(t, url+"/health", ""); status != http.StatusOK || strings.Contains(body, "full") {
		t.Errorf("health of an empty store: got %d %s", status, body)
	}
	value := strings.Repeat("x", 100<<10)
	write := func(n int) (int, string) {
		return sendJSON(t, http.MethodPost, url+"/tags/write", fmt.Sprintf(`{"request_id":"full-%d","flow":"f","tags":{"v":%q}}`, n, value))
	}
	n, status, body := 0, http.StatusCreated, ""
	for ; status == http.StatusCreated && n < 100; n++ {
		status, body = write(n)
	}
	if status != http.StatusServiceUnavailable || !strings.Contains(body, `"CE-011"`) ||
		!strings.Contains(body, "the tag store is full (maximum bytes exceeded)") {
		t.Fatalf("tag %d: got %d %s, want 503 CE-011 that the tag store is full", n, status, body)
	}
	if status, _ := write(n); status != http.StatusServiceUnavailable {
		t.Errorf("once more: got %d, want 503", status)
	}
	wantHealth(t, url, func(body string) bool {
		return strings.Contains(body, `"degraded"`) && strings.Contains(body, "bucket tags is 9")
	})
	if status, body := sendJSON(t, http.MethodPost, url+"/register/tool", `{"tool_data":{"tool_id":"p.s.one"}}`); status != http.StatusOK {
		t.Errorf("register while the tag store is full: got %d %s", status, body)
	}
	for i := range n - 1 {
		if status, body := sendJSON(t, http.MethodDelete, fmt.Sprintf("%s/tags/full-%d", url, i), ""); status != http.StatusNoContent {
			t.Errorf("delete tag %d of a full store: got %d %s", i, status, body)
		}
	}
	if status, body := write(n); status != http.StatusCreated {
		t.Errorf("write after deletes: got %d %s", status, body)
	}
	wantHealth(t, url, func(body string) bool { return !strings.Contains(body, "full") })
}

func wantHealth(t *testing.T, url string, want func(body string) bool) {
	t.Helper()
	var body string
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if _, body = get(t, url+"/health", ""); want(body) {
			return
		}
	}
	t.Errorf("health stays at %s", body)
}

// sendJSON returns the status and the body of the answer.
func sendJSON(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(answer)
}
