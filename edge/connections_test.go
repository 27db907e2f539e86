package edge_test

import (
	"bufio"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"cairn/bus/bustest"
	"cairn/edge"
	"cairn/test/wait"
)

// TestIdleConnections opens as many idle connections from one client address as the edge
// accepts, each after one request.
func TestIdleConnections(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	f := open(t, func(c *edge.Config) {
		c.Connections, c.Log = 20, slog.New(slog.NewTextHandler(&log, nil))
	})
	held := f.hold(t, "127.0.0.2", 40)
	if len(held) != 16 {
		t.Errorf("one address holds %d of 20 connections, want 80 %%", len(held))
	}
	if a := f.at(t, "127.0.0.3").request(t, "GET", "/health/live", nil); a.status != http.StatusOK {
		t.Errorf("another address: %d %s", a.status, a.body)
	}
	lines := log.String()
	if n := strings.Count(lines, "connection limit reached"); n == 0 || n > 15 || !strings.Contains(lines, "level=WARN") {
		t.Errorf("want a few warnings, got %d:\n%s", n, lines)
	}
	for _, conn := range held {
		_ = conn.Close()
	}
	wait.Until(t, "closed connections are released", func() bool { return len(f.hold(t, "127.0.0.2", 1)) == 1 })
}

// TestConnectionsAreReleasedOnce counts the connections that one address gets after
// many have ended, with and without TLS.
func TestConnectionsAreReleasedOnce(t *testing.T) {
	t.Parallel()
	cert, key := bustest.Certificate(t, t.TempDir(), 1)
	for name, change := range map[string]func(*edge.Config){
		"HTTP":  func(*edge.Config) {},
		"HTTPS": func(c *edge.Config) { c.Cert, c.Key = cert, key },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := open(t, change, func(c *edge.Config) { c.Connections = 20 })
			f.secure = name == "HTTPS"
			for range 30 {
				wait.Until(t, "a connection is served", func() bool { return answers(f.dial(t), "Connection: close\r\n") })
				if f.secure { // the one above failed in the handshake
					wait.Until(t, "HTTP/2 is served", func() bool { return f.http2(t) })
				}
			}
			wait.Until(t, "each connection is released exactly once", func() bool {
				held := f.hold(t, "127.0.0.1", 40)
				for _, conn := range held {
					_ = conn.Close()
				}
				return len(held) == 16
			})
		})
	}
}

var insecureTLS = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // the certificate of the test server is self-signed

// http2 reports whether a request over a new HTTP/2 connection is answered.
func (f *testEdge) http2(t *testing.T) bool {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: insecureTLS.Clone(), ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), "GET", strings.Replace(f.url, "http", "https", 1)+"/unknown", nil)
	must(t, err)
	res, err := transport.RoundTrip(req)
	if err != nil {
		return false
	}
	return res.ProtoMajor == 2 && res.Body.Close() == nil
}

// hold opens n connections from the address, sends a request on each, and returns the
// connections with a response. It does not close them.
func (f *testEdge) hold(t *testing.T, address string, n int) (held []net.Conn) {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}, Timeout: 10 * time.Second}
	for range n {
		conn, err := dialer.Dial("tcp", strings.TrimPrefix(f.url, "http://"))
		must(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		if f.secure {
			conn = tls.Client(conn, insecureTLS)
		}
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
		if answers(conn, "") {
			held = append(held, conn)
		}
	}
	return held
}

// answers reports whether a request on the connection is answered.
func answers(conn net.Conn, header string) bool {
	if _, err := io.WriteString(conn, "GET /unknown HTTP/1.1\r\nHost: localhost\r\n"+header+"\r\n"); err != nil {
		return false
	}
	_, err := bufio.NewReader(conn).ReadByte()
	return err == nil
}
