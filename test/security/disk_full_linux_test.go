package security

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"golang.org/x/sys/unix"

	"cairn/bus/bustest"
	"cairn/test/cairntest"
	"cairn/test/wait"
)

// TestFullDisk fills the disk of the embedded NATS server. Writes are refused with the reason, the health and the log
// name the cause, and records are resolved from memory. When the disk has space again, the process restarts by
// itself, every acknowledged record exists, and writes are served.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk := bustest.MountDisk(t)
	address := bustest.FreeAddress(t) // stays the same after the restart
	p := cairntest.Up(t, "--data", filepath.Join(disk, "data"), "--storage-limit", "40", "--http", address)
	url := "http://" + address
	// An edge that has written nothing does not wait for the last write, which the resolve worker may not have applied.
	reader := cairntest.Start(t, nil, "--nats", p.NATS(), "edge", "--http", "127.0.0.1:0").URL()
	if status, body := sendJSON(t, http.MethodPost, url+"/tags/write",
		`{"request_id":"before","flow":"f","tags":{}}`); status != http.StatusCreated {
		t.Fatalf("write a tag: got %d %s", status, body)
	}
	filler := filepath.Join(disk, "filler")
	fill(t, disk, filler)
	registered, status, body := registerUntilRefused(t, url)
	// the disk may become full between a record and its entry in the audit log
	refused := func(status int, body string) bool {
		return status == http.StatusServiceUnavailable && strings.Contains(body, " cannot be written (")
	}
	if !refused(status, body) || strings.Contains(body, disk) {
		t.Fatalf("record %d: got %d %s, want 503 with the reason, and no path\n%s", registered, status, body, p.Stderr)
	}
	if status, body := registerRecord(t, url, registered+1); !refused(status, body) {
		t.Errorf("the next one: got %d %s", status, body)
	}
	// the history was written first
	const problem = "the NATS server has disabled JetStream: its disk is full or not writable"
	wantHealth(t, url, func(body string) bool { return strings.Contains(body, problem) })
	log := p.Stderr.String()
	if !strings.Contains(log, problem) || !strings.Contains(log, `level=ERROR msg="NATS server"`) {
		t.Errorf("the log lacks the failure or the errors of the NATS server:\n%s", log)
	}
	resolve := func(edge string, n int) (int, string) {
		return sendJSON(t, http.MethodPost, edge+"/resolve/skill", fmt.Sprintf(`{"skill_id":"disk.s%d"}`, n))
	}
	if status, body := resolve(reader, 0); status != http.StatusOK {
		t.Errorf("resolve a skill: got %d %s", status, body)
	}
	must(t, os.Remove(filler))
	wait.Success(t, func() error { return registerAfter(url) })
	for n := range registered {
		if status, body := resolve(url, n); status != http.StatusOK {
			t.Errorf("acknowledged record %d: got %d %s", n, status, body)
		}
	}
}

// TestFileSizeLimit limits the size of the files of the embedded NATS server below the size of its blocks. The process
// does not restart until the limit is raised, and then serves writes.
func TestFileSizeLimit(t *testing.T) {
	t.Parallel()
	address := bustest.FreeAddress(t) // stays the same after the restart
	p := cairntest.Up(t, "--data", t.TempDir(), "--storage-limit", "64", "--http", address)
	url := "http://" + address
	limit := func(bytes uint64) {
		limits := unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY}
		must(t, unix.Prlimit(p.Cmd.Process.Pid, unix.RLIMIT_FSIZE, &limits, nil))
	}
	limit(5 << 20)
	if _, status, body := registerUntilRefused(t, url); status != http.StatusServiceUnavailable ||
		!strings.Contains(body, " cannot be written (") {
		t.Fatalf("got %d %s, want 503 with the reason", status, body)
	}
	wantHealth(t, url, func(body string) bool {
		return strings.Contains(body, "its data directory stores no file of 10 MiB: file too large")
	})
	limit(unix.RLIM_INFINITY)
	wait.Success(t, func() error { return registerAfter(url) })
}

// TestFullDiskOfNATS fills the disk of a NATS server of its own process. Writes are refused with the reason, which the
// health also names, until the server is restarted with free space.
func TestFullDiskOfNATS(t *testing.T) {
	t.Parallel()
	disk := bustest.MountDisk(t)
	options := server.Options{Port: server.RANDOM_PORT, JetStream: true, StoreDir: disk, MaxPayload: 8 << 20}
	node := bustest.RestartNode(t, options.Clone())
	nats := []string{"--nats", node.ClientURL()}
	if out, err := cairntest.Run(t, nil, append(nats, "setup", "--storage-limit", "40")...); err != nil {
		t.Fatal(out, err)
	}
	cairntest.Start(t, nil, append(nats, "worker", "tags", "register", "resolve")...)
	url := cairntest.Start(t, nil, append(nats, "edge", "--http", "127.0.0.1:0")...).URL()
	filler := filepath.Join(disk, "filler")
	fill(t, disk, filler)
	const reason = " cannot be written (the disk of the NATS server may be full)"
	const problem = "the catalog" + reason
	if n, status, body := registerUntilRefused(t, url); status != http.StatusServiceUnavailable ||
		!strings.Contains(body, reason) {
		t.Errorf("record %d: got %d %s, want 503: %s", n, status, body, reason)
	}
	wantHealth(t, url, func(body string) bool { return strings.Contains(body, "register: "+problem) })
	must(t, os.Remove(filler))
	options.Port = node.Addr().(*net.TCPAddr).Port
	node.Shutdown()
	node.WaitForShutdown()
	bustest.RestartNode(t, &options)
	wait.Success(t, func() error { return registerAfter(url) })
	wantHealth(t, url, func(body string) bool { return !strings.Contains(body, problem) })
}

// registerRecord registers record n, of 90 KiB.
func registerRecord(t *testing.T, url string, n int) (status int, body string) {
	t.Helper()
	record := fmt.Sprintf(`{"record":{"skill_id":"disk.s%d","instructions":%q}}`, n, strings.Repeat("x", 90<<10))
	return sendJSON(t, http.MethodPost, url+"/register/skill", record)
}

// registerUntilRefused registers records, and returns how many are registered and the response to the next one.
func registerUntilRefused(t *testing.T, url string) (registered, status int, body string) {
	t.Helper()
	for ; registered < 200; registered++ {
		if status, body = registerRecord(t, url, registered); status != http.StatusOK {
			break
		}
	}
	return registered, status, body
}

// registerAfter registers a record after the disk has space again.
func registerAfter(url string) error {
	status, body, err := send(http.DefaultClient, http.MethodPost, url+"/register/skill",
		`{"record":{"skill_id":"disk.after"}}`)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("register after the disk has space again: %d %s", status, body)
	}
	return err
}

// fill creates a file that leaves 1 MiB of the disk free.
func fill(t *testing.T, disk, name string) {
	t.Helper()
	var space syscall.Statfs_t
	must(t, syscall.Statfs(disk, &space))
	data := make([]byte, int64(space.Bavail)*space.Bsize-1<<20)
	must(t, os.WriteFile(name, data, 0o600))
}
