package natsserver_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/bus/natsserver"
	"cairn/test/wait"
)

// A guarded server accepts clients with the token that trust its certificate, and
// in-process clients.
func TestServerWithSecurity(t *testing.T) {
	t.Parallel()
	cert, key := bustest.Certificate(t, t.TempDir(), 1)
	server, err := natsserver.Start(t.TempDir(), "127.0.0.1:0",
		natsserver.WithSecurity(natsserver.Security{Secret: "s3cret", Cert: cert, Key: key,
			Log: slog.New(slog.DiscardHandler)}))
	bustest.Must(t, err)
	t.Cleanup(server.Stop)
	inside, err := server.Open("inside")
	if err != nil || !inside.Connected() {
		t.Fatalf("from inside the process: %v", err)
	}
	t.Cleanup(inside.Close)
	address := strings.TrimPrefix(server.URL(), "tls://")
	if address == server.URL() {
		t.Errorf("the URL is %s, want tls://", address)
	}
	client, err := bus.Open("tls://s3cret@"+address, "known", bus.Credentials{CA: cert}.Options()...)
	if err != nil || !client.Connected() {
		t.Fatalf("with the secret: %v", err)
	}
	t.Cleanup(client.Close)
	for url, options := range map[string][]nats.Option{
		"tls://" + address:        {nats.RootCAs(cert)},
		"tls://wrong@" + address:  {nats.RootCAs(cert)},
		"tls://s3cret@" + address: nil,
	} {
		if nc, err := nats.Connect(url, options...); err == nil {
			nc.Close()
			t.Errorf("%s with %d options is accepted", url, len(options))
		}
	}
}

// Nodes with mutual TLS accept routes of the configured CA only.
func TestEncryptedRoutes(t *testing.T) {
	t.Parallel()
	cert, key := bustest.Certificate(t, t.TempDir(), 1)
	otherCert, otherKey := bustest.Certificate(t, t.TempDir(), 1)
	ports := []string{bustest.FreeAddress(t), bustest.FreeAddress(t), bustest.FreeAddress(t)}
	routes := []string{"nats://" + ports[0], "nats://" + ports[1], "nats://" + ports[2]}
	var nodes []*natsserver.Server
	for i, files := range [][2]string{{cert, key}, {cert, key}, {otherCert, otherKey}} {
		s, err := natsserver.StartNode(t.TempDir(), "127.0.0.1:0",
			natsserver.Cluster{Name: "c", Listen: ports[i], Routes: routes},
			natsserver.WithSecurity(natsserver.Security{Cert: files[0], Key: files[1], CA: files[0],
				Log: slog.New(slog.DiscardHandler)}))
		bustest.Must(t, err)
		t.Cleanup(s.Stop)
		nodes = append(nodes, s)
	}
	wait.Until(t, "the first two nodes form a quorum", func() bool {
		_, quorum := nodes[0].Problem()
		return quorum
	})
	if problem, quorum := nodes[2].Problem(); quorum {
		t.Errorf("a node with a certificate of another CA is accepted: %s", problem)
	}
}
