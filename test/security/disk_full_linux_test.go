package security

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"cairn/bus/bustest"
	"cairn/test/cairntest"
	"cairn/test/wait"
)

// TestFullDisk fills the disk of the embedded NATS server. Writes are refused with the reason, the health and the log
// name the cause, and records are resolved from memory. When the disk has space again, the process restarts by
// itself, every acknowledged record exists, and writes are served.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=64m"); err != nil {
		t.Skip("a tmpfs cannot be mounted: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	address := bustest.FreeAddress(t) // stays the same after the restart
	p := cairntest.Up(t, "--data", filepath.Join(disk, "data"), "--storage-limit", "40", "--http", address)
	url := "http://" + address
	if status, body := sendJSON(t, http.MethodPost, url+"/tags/write",
		`{"request_id":"before","flow":"f","tags":{}}`); status != http.StatusCreated {
		t.Fatalf("write a tag: got %d %s", status, body)
	}
	filler := filepath.Join(disk, "filler")
	fill(t, disk, filler)
	register := func(n int) (int, string) {
		record := fmt.Sprintf(`{"record":{"skill_id":"disk.s%d","instructions":%q}}`, n, strings.Repeat("x", 90<<10))
		return sendJSON(t, http.MethodPost, url+"/register/skill", record)
	}
	registered, status, body := 0, http.StatusOK, ""
	for ; status == http.StatusOK && registered < 200; registered++ {
		status, body = register(registered)
	}
	registered--
	refused := func(status int, body string) bool {
		return status == http.StatusServiceUnavailable && strings.Contains(body, "the catalog cannot be written (")
	}
	if !refused(status, body) || strings.Contains(body, disk) {
		t.Fatalf("record %d: got %d %s, want 503 with the reason, and no path\n%s", registered, status, body, p.Stderr)
	}
	if status, body := register(registered); !refused(status, body) {
		t.Errorf("once more: got %d %s", status, body)
	}
	// the history was written first
	const problem = "the NATS server has disabled JetStream: its disk is full or not writable"
	wantHealth(t, url, func(body string) bool { return strings.Contains(body, problem) })
	log := p.Stderr.String()
	if !strings.Contains(log, problem) || !strings.Contains(log, `level=ERROR msg="NATS server"`) {
		t.Errorf("the log lacks the failure or the errors of the NATS server:\n%s", log)
	}
	resolve := func(n int) (int, string) {
		return sendJSON(t, http.MethodPost, url+"/resolve/skill", fmt.Sprintf(`{"skill_id":"disk.s%d"}`, n))
	}
	if status, body := resolve(0); status != http.StatusOK {
		t.Errorf("resolve a skill: got %d %s", status, body)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	wait.Success(t, func() error {
		body := strings.NewReader(`{"record":{"skill_id":"disk.after"}}`)
		res, err := http.Post(url+"/register/skill", "application/json", body)
		if err != nil {
			return err
		}
		if err := res.Body.Close(); err != nil || res.StatusCode != http.StatusOK {
			return fmt.Errorf("register after the disk has space again: %d, %w", res.StatusCode, err)
		}
		return nil
	})
	for n := range registered {
		if status, body := resolve(n); status != http.StatusOK {
			t.Errorf("acknowledged record %d: got %d %s", n, status, body)
		}
	}
}

// fill creates a file that leaves 1 MiB of the disk free.
func fill(t *testing.T, disk, name string) {
	t.Helper()
	var space syscall.Statfs_t
	if err := syscall.Statfs(disk, &space); err != nil {
		t.Fatal(err)
	}
	data := make([]byte, int64(space.Bavail)*space.Bsize-1<<20)
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
