package edge_test

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"cairn/bus/bustest"
	"cairn/edge"
)

// A certificate that is renewed is shown to those who come then; what cannot be
// read leaves the one before.
func TestCertificateIsReadAnew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := bustest.Certificate(t, dir, 1)
	var said lockedBuffer
	f := serve(t, bustest.Open(t), func(c *edge.Config) {
		c.Cert, c.Key, c.Log = cert, key, slog.New(slog.NewTextHandler(&said, nil))
	})
	shown := func() int64 {
		conn, err := tls.Dial("tcp", strings.TrimPrefix(f.url, "http://"), &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // the certificate is what is looked at
		must(t, err)
		defer func() { _ = conn.Close() }()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	if got := shown(); got != 1 {
		t.Fatalf("certificate %d", got)
	}
	bustest.Certificate(t, dir, 2)
	soon(t, "the new certificate is shown", 10*time.Second, func() bool { return shown() == 2 })
	must(t, os.WriteFile(cert, []byte("no certificate"), 0o600))
	soon(t, "what cannot be read is told", 10*time.Second, func() bool {
		return shown() == 2 && strings.Contains(said.String(), "cannot be read")
	})
	bustest.Certificate(t, dir, 3)
	soon(t, "a later one is shown", 10*time.Second, func() bool { return shown() == 3 })
}

func TestCertificateThatIsNone(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	err = edge.Serve(t.Context(), edge.Config{
		Listener: listener, Conn: bustest.Open(t), Log: slog.New(slog.DiscardHandler), Cert: "nowhere.pem", Key: "nowhere.pem",
	})
	if err == nil || !strings.Contains(err.Error(), "nowhere.pem") {
		t.Errorf("got %v, want the file named", err)
	}
	if err := listener.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener is still open: %v", err)
	}
}
