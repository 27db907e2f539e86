package edge_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"cairn/bus/bustest"
	"cairn/edge"
	"cairn/test/wait"
)

// TestCertificateReload checks that new connections get a renewed certificate, and
// that an unreadable one is ignored.
func TestCertificateReload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := bustest.Certificate(t, dir, 1)
	var logged lockedBuffer
	f := serve(t, bustest.Open(t), func(c *edge.Config) {
		c.Cert, c.Key, c.Log = cert, key, slog.New(slog.NewTextHandler(&logged, nil))
	})
	transport := &http.Transport{DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // the test inspects the certificate
	// shown returns the serial number once the expiry metric matches the certificate.
	shown := func() int64 {
		req, err := http.NewRequest("GET", strings.Replace(f.url, "http", "https", 1)+"/metrics", nil)
		must(t, err)
		res, err := transport.RoundTrip(req)
		must(t, err)
		defer func() { _ = res.Body.Close() }()
		text, err := io.ReadAll(res.Body)
		must(t, err)
		served := res.TLS.PeerCertificates[0]
		end := fmt.Sprintf("cairn_certificate_not_after_timestamp_seconds{of=\"http\"} %v\n", float64(served.NotAfter.Unix()))
		if !strings.Contains(string(text), end) {
			return 0 // just reloaded, or not in the metrics
		}
		return served.SerialNumber.Int64()
	}
	if got := shown(); got != 1 {
		t.Fatalf("certificate %d", got)
	}
	bustest.Certificate(t, dir, 2)
	wait.Until(t, "the new certificate is used", func() bool { return shown() == 2 })
	must(t, os.WriteFile(cert, []byte("no certificate"), 0o600))
	wait.Until(t, "an unreadable certificate is logged", func() bool {
		return shown() == 2 && strings.Contains(logged.String(), "cannot be read")
	})
	bustest.Certificate(t, dir, 3)
	wait.Until(t, "a later certificate is used", func() bool { return shown() == 3 })
}

func TestInvalidCertificate(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	err = edge.Serve(t.Context(), edge.Config{
		Listener: listener, Conn: bustest.Open(t), Log: slog.New(slog.DiscardHandler), Cert: "nowhere.pem",
		Key: "nowhere.pem",
	})
	if err == nil || !strings.Contains(err.Error(), "nowhere.pem") {
		t.Errorf("got %v, want the file named", err)
	}
	if err := listener.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener is still open: %v", err)
	}
}
