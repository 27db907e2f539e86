package security

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"cairn/test/cairntest"
)

// TestTenantLimits fills the quota of one tenant: its writes are refused with 429, those
// of other tenants are not, also after a restart.
func TestTenantLimits(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	flags := []string{"--data", data, "--tenant-tags", "3", "--tenant-records", "3"}
	process := cairntest.Up(t, flags...)
	tag := func(tenant string, n int) (int, string) {
		return sendJSON(t, http.MethodPost, process.URL()+"/tags/write",
			fmt.Sprintf(`{"request_id":"limit-%d","flow":"f","tags":{},"tenant_id":%q}`, n, tenant))
	}
	tool := func(tenant string, n int) (int, string) {
		return sendJSON(t, http.MethodPost, process.URL()+"/register/tool",
			fmt.Sprintf(`{"tool_data":{"tool_id":"p.s.t%d","tenant_id":%q}}`, n, tenant))
	}
	for n := range 3 {
		if status, body := tag("acme", n); status != http.StatusCreated {
			t.Fatalf("tag %d: got %d %s", n, status, body)
		}
		if status, body := tool("acme", n); status != http.StatusOK {
			t.Fatalf("record %d: got %d %s", n, status, body)
		}
	}
	refused := func() {
		t.Helper()
		if status, body := tag("acme", 3); status != http.StatusTooManyRequests || !strings.Contains(body, `"CE-008"`) ||
			!strings.Contains(body, "tenant acme uses 3 of 3 tags; delete tags or raise --tenant-tags") {
			t.Errorf("one more tag: got %d %s", status, body)
		}
		if status, body := tool("acme", 3); status != http.StatusTooManyRequests || !strings.Contains(body, `"CE-008"`) ||
			!strings.Contains(body, "tenant acme uses 3 of 3 records; delete records or raise --tenant-records") {
			t.Errorf("one more record: got %d %s", status, body)
		}
	}
	refused()
	must(t, process.Stop())
	process = cairntest.Up(t, flags...)
	refused()
	if status, body := tag("other", 3); status != http.StatusCreated {
		t.Errorf("a tag of another tenant: got %d %s", status, body)
	}
	if status, body := tool("other", 3); status != http.StatusOK {
		t.Errorf("a record of another tenant: got %d %s", status, body)
	}
	if status, body := sendJSON(t, http.MethodDelete, process.URL()+"/tags/limit-0?tenant_id=acme",
		""); status != http.StatusNoContent {
		t.Errorf("delete a tag: got %d %s", status, body)
	}
	if status, body := sendJSON(t, http.MethodDelete, process.URL()+"/register/tool/p.s.t0?tenant_id=acme",
		""); status != http.StatusNoContent {
		t.Errorf("delete a record: got %d %s", status, body)
	}
	if status, body := tag("acme", 3); status != http.StatusCreated {
		t.Errorf("a tag after a delete: got %d %s", status, body)
	}
	if status, body := tool("acme", 3); status != http.StatusOK {
		t.Errorf("a record after a delete: got %d %s", status, body)
	}
}
