package main

import (
	"runtime"
	"testing"

	"cairn/bus/bustest"
)

// TestCommandsTrustSSLCertFile checks that commands trust the CA in
// SSL_CERT_FILE.
func TestCommandsTrustSSLCertFile(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux: Go ignores SSL_CERT_FILE on other systems")
	}
	cert, secret := bustest.Certificate(t, t.TempDir(), 1)
	up := startIsolated(t, "--model", "offline:", "--tls-cert", cert, "--tls-key", secret)
	url := up.URL()
	for _, row := range []struct{ variable, want string }{{"SSL_CERT_FILE=", "fails"},
		{"SSL_CERT_FILE=" + cert, "succeeds"}} {
		cmd := program("status", "--url", url)
		cmd.Env = append(cmd.Env, row.variable)
		p := begin(t, cmd)
		if code := p.waitExit(t); (code == 0) != (row.want == "succeeds") {
			t.Errorf("with %s: got exit code %d, want: %s\n%s", row.variable, code, row.want, p.output())
		}
	}
}
