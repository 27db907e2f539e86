package main

import (
	"bufio"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"cairn/bus/bustest"
	"cairn/test/wait"
)

// confWithTLS returns nats.conf with the TLS files of the component tls, and the path of
// a test certificate.
func confWithTLS(t *testing.T) (conf, cert string) {
	t.Helper()
	dir := t.TempDir()
	cert, key := bustest.Certificate(t, dir, 1)
	paths := strings.NewReplacer("/etc/nats/tls/tls.crt", cert, "/etc/nats/tls/ca.crt", cert, "/etc/nats/tls/tls.key", key)
	for _, file := range []string{natsConf, manifests + "tls/tls.conf", manifests + "tls/tls-routes.conf"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(file)), []byte(paths.Replace(string(text))),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "nats.conf"), cert
}

// TestClientsEncrypt checks that the server requires TLS and that clients verify its
// certificate.
func TestClientsEncrypt(t *testing.T) {
	conf, cert := confWithTLS(t)
	n := startNodeWith(t, conf, "nats-1", single)
	plain, err := net.DialTimeout("tcp", n.Addr().String(), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = plain.Close() }()
	if info, err := bufio.NewReader(plain).ReadString('\n'); err != nil || !strings.Contains(info, `"tls_required":true`) {
		t.Errorf("the server info is %s (%v)", info, err)
	}
	if nc, err := nats.Connect(n.ClientURL(), nats.UserInfo("platform", password)); err == nil {
		nc.Close()
		t.Error("a client without the CA accepts the certificate")
	}
	urlOf := func(user string) string { return "tls://" + user + ":" + password + "@" + n.Addr().String() }
	if got := do(t, "", "setup", "--nats", urlOf("operator"), "--keys-nats", urlOf("keys"), "--nats-ca",
		cert); got.code != 0 {
		t.Errorf("%+v", got)
	}
	if got := do(t, "", "key", "create", "--all-tenants", "--role", "reader", "--nats", urlOf("keys"), "--nats-ca",
		cert); got.code != 0 {
		t.Errorf("%+v", got)
	}
}

// TestRoutesEncrypt checks that routes require a client certificate besides the password.
func TestRoutesEncrypt(t *testing.T) {
	conf, _ := confWithTLS(t)
	connect := routes(t)
	join := func(name string, change func(*server.Options)) node {
		return startNodeWith(t, conf, name, func(o *server.Options) {
			o.JetStream = false
			connect(name, o)
			change(o)
		})
	}
	first := join("nats-1", func(*server.Options) {})
	stranger := join("nats-3", func(o *server.Options) { o.Cluster.TLSConfig.Certificates = nil })
	second := join("nats-2", func(*server.Options) {})
	wait.Until(t, "both nodes have a route", func() bool { return first.NumRoutes() > 0 && second.NumRoutes() > 0 })
	if n := stranger.NumRoutes(); n != 0 {
		t.Errorf("a server without a certificate has %d routes", n)
	}
}
