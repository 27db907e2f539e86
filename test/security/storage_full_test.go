package security

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"cairn/test/cairntest"
	"cairn/test/wait"
)

// TestFullTagStore fills the tags' share of the storage. One tenant is refused at 80 % of it, while others
// write. Several tenants together fill it: further tags are refused at once with the reason, the health
// names the bucket, a delete makes room, and registration works throughout.
func TestFullTagStore(t *testing.T) {
	t.Parallel()
	url := cairntest.Up(t, "--storage-limit", "16").URL() // 4 MiB of tags
	if status, body := get(t, url+"/health", ""); status != http.StatusOK || strings.Contains(body, "full") {
		t.Errorf("health of an empty store: got %d %s", status, body)
	}
	value := strings.Repeat("x", 100<<10)
	write := func(tenant string, n int) (int, string) {
		return sendJSON(t, http.MethodPost, url+"/tags/write",
			fmt.Sprintf(`{"request_id":"full-%d","flow":"f","tags":{"v":%q},"tenant_id":%q}`, n, value, tenant))
	}
	fill := func(tenant string) (n, status int, body string) {
		for status = http.StatusCreated; status == http.StatusCreated && n < 100; n++ {
			status, body = write(tenant, n)
		}
		return n - 1, status, body
	}
	written, status, body := fill("acme")
	if status != http.StatusTooManyRequests || !strings.Contains(body, `"CE-008"`) ||
		!strings.Contains(body, "bytes of tags, 80 % of the storage of the bucket; this write needs ") ||
		!strings.Contains(body, "delete tags or raise --storage-limit") {
		t.Fatalf("tag %d of a tenant: got %d %s, want 429 CE-008 and the limit of the bucket", written, status, body)
	}
	n, status, body := fill("other")
	if n == 0 || status != http.StatusServiceUnavailable || !strings.Contains(body, `"CE-011"`) ||
		!strings.Contains(body, "the tag store is full (maximum bytes exceeded)") {
		t.Fatalf("tag %d of another tenant: got %d %s, want 503 CE-011 that the tag store is full", n, status, body)
	}
	if status, _ := write("other", n); status != http.StatusServiceUnavailable {
		t.Errorf("once more: got %d, want 503", status)
	}
	wantHealth(t, url, func(body string) bool {
		return strings.Contains(body, `"degraded"`) && strings.Contains(body, "bucket cairn_tags is 9")
	})
	if status, body := sendJSON(t, http.MethodPost, url+"/register/tool",
		`{"tool_data":{"tool_id":"p.s.one"}}`); status != http.StatusOK {
		t.Errorf("register a tool while the tag store is full: got %d %s", status, body)
	}
	for i := range written {
		tag := fmt.Sprintf("%s/tags/full-%d?tenant_id=acme", url, i)
		if status, body := sendJSON(t, http.MethodDelete, tag, ""); status != http.StatusNoContent {
			t.Errorf("delete tag %d of a full store: got %d %s", i, status, body)
		}
	}
	for _, tenant := range []string{"acme", "other"} {
		if status, body := write(tenant, n); status != http.StatusCreated {
			t.Errorf("write of %s after deletes: got %d %s", tenant, status, body)
		}
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
