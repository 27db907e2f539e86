package bench

import (
	"errors"
	"os/exec"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bustest"
	"cairn/test/cairntest"
)

// serveRequest starts a worker, and retries the request until it succeeds.
func serveRequest(b *testing.B, nc *nats.Conn, cmd *exec.Cmd, subject, body string) *cairntest.Process {
	b.Helper()
	p := launch(b, cmd)
	for end := time.Now().Add(recordsTime); ; time.Sleep(2 * time.Millisecond) {
		_, err := nc.Request(subject, []byte(body), recordsTime)
		if err == nil {
			return p
		}
		if !errors.Is(err, nats.ErrNoResponders) || time.Now().After(end) {
			b.Fatalf("%s: %v", subject, err)
		}
	}
}

// natsServer starts a NATS server with an empty catalog for the benchmark and connects
// to it.
func natsServer(b *testing.B) *nats.Conn {
	b.Helper()
	ns := bustest.StartNode(b, &natsserver.Options{MaxPayload: 8 << 20, JetStream: true})
	nc, err := nats.Connect(ns.ClientURL())
	must(b, err)
	b.Cleanup(nc.Close)
	must(b, exec.Command(cairntest.Program(b), "setup", "--nats", nc.ConnectedUrl()).Run())
	cmd := exec.Command(cairntest.Program(b), "worker", "register", "--nats", nc.ConnectedUrl())
	_ = serveRequest(b, nc, cmd, "cairn.health.register", "").Stop()
	return nc
}

// fillCatalog writes records directly to the catalog.
func fillCatalog(b *testing.B, nc *nats.Conn, records []record) {
	b.Helper()
	js, err := jetstream.New(nc)
	must(b, err)
	for _, r := range records {
		_, err := js.PublishAsync("$KV.cairn_catalog."+r.kind+"._global."+r.id, r.text, jetstream.WithStallWait(time.Minute))
		must(b, err)
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-time.After(time.Minute):
		b.Fatal("the records are not acknowledged")
	}
}
