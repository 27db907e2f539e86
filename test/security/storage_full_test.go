package security

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"cairn/test/cairntest"
	"cairn/test/wait"
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
		return strings.Contains(body, `"degraded"`) && strings.Contains(body, "bucket cairn_tags is 9")
	})
	if status, body := sendJSON(t, http.MethodPost, url+"/register/tool", `{"tool_data":{"tool_id":"p.s.one"}}`); status != http.StatusOK {
		t.Errorf("register a tool while the tag store is full: got %d %s", status, body)
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
	wait.Success(t, func() error {
		if _, body := get(t, url+"/health", ""); !want(body) {
			return fmt.Errorf("health is %s", body)
		}
		return nil
	})
}

// sendJSON returns the status and the body of the response.
func sendJSON(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	res, text := do(t, method, url, "", body)
	return res.StatusCode, text
}
