package security

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"cairn/test/cairntest"
)

// TestConnectionsLeaveFileDescriptors opens more connections than the process has file
// descriptors. Each sends a request without a credential and then stays idle.
func TestConnectionsLeaveFileDescriptors(t *testing.T) {
	t.Parallel()
	up := append([]string{"-c", `ulimit -n 500 && exec "$0" "$@"`, cairntest.Program(t)}, cairntest.UpArgs(t)...)
	p := cairntest.StartCommand(t, cairntest.Command("/bin/sh", nil, up...))
	held := 0
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}, Timeout: 10 * time.Second}
	for range 600 {
		conn, err := dialer.Dial("tcp", strings.TrimPrefix(p.URL(), "http://"))
		must(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
		_, _ = io.WriteString(conn, "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n") // fails when the connection is refused
		if _, err := bufio.NewReader(conn).ReadByte(); err == nil {
			held++
		}
	}
	if held != 320 {
		t.Errorf("one address holds %d connections, want 80 %% of 80 %% of 500", held)
	}
	other := client(t, "127.0.0.3")
	register(t, other, p.URL(), "a.b.c", 1)
	if status, body, err := send(other, "GET", p.URL()+"/health/live", ""); err != nil || status != http.StatusOK {
		t.Errorf("health of another address: %d %s %v", status, body, err)
	}
	if !strings.Contains(p.Stderr.String(), "connection limit reached") {
		t.Errorf("no warning in the log:\n%s", p.Stderr)
	}
}
