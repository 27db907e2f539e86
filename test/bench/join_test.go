package bench

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/test/cairntest"
)

const (
	joinRecords = 100_000
	joins       = 3
	// joinTime is the maximum time that a worker may take to join.
	joinTime = 5 * time.Minute
)

// BenchmarkJoin measures the time from the start of a resolve worker, with a catalog of
// 100,000 records, to its first response, and the CPU time until then. With an
// embedded index this includes building the index.
func BenchmarkJoin(b *testing.B) {
	nc := natsServer(b)
	records := library(b, joinRecords)
	fillCatalog(b, nc, records)
	// a skill: it is requested until it is found
	last := records[len(records)-2].id
	shared := cmp.Or(os.Getenv("CAIRN_TEST_ELASTICSEARCH"), "http://127.0.0.1:1") // not used to resolve by id
	for _, c := range []struct{ name, index string }{{"index=shared", shared}, {"index=embedded", "embedded:"}} {
		b.Run(c.name, func(b *testing.B) {
			var took, worked []float64
			for range joins {
				s, w := join(b, nc, c.index, last)
				took, worked = append(took, s), append(worked, w)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(took), "join-s")
			b.ReportMetric(median(worked), "cpu-s")
		})
	}
}

// join starts a worker and requests the skill. It returns the time and the CPU time
// from the start to the response, in seconds.
func join(b *testing.B, nc *nats.Conn, index, skill string) (took, worked float64) {
	b.Helper()
	cmd := exec.Command(cairntest.Program(b), "worker", "resolve", "--nats", nc.ConnectedUrl(), "--index", index)
	began := time.Now()
	p, answer := served(b, nc, cmd, "cairn.resolve.skill", fmt.Sprintf(`{"skill_id":%q}`, skill), joinTime)
	took = time.Since(began).Seconds()
	worked = server{pids: []int{cmd.Process.Pid}}.cpuTime(b) / 1e6
	_ = p.Stop()
	if answer.Header.Get("Nats-Service-Error") != "" || !bytes.Contains(answer.Data, []byte(`"tool_ids"`)) {
		b.Fatalf("the first answer is %s", answer.Data)
	}
	return took, worked
}

// served starts a worker, retries the request until it succeeds, and returns the response.
func served(b *testing.B, nc *nats.Conn, cmd *exec.Cmd, subject, body string,
	timeout time.Duration) (*cairntest.Process, *nats.Msg) {
	b.Helper()
	p := launch(b, cmd)
	for end := time.Now().Add(timeout); ; time.Sleep(2 * time.Millisecond) {
		answer, err := nc.Request(subject, []byte(body), timeout)
		if err == nil {
			return p, answer
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
	ns, err := natsserver.NewServer(&natsserver.Options{
		Host: "127.0.0.1", Port: natsserver.RANDOM_PORT, NoSigs: true, NoLog: true, MaxPayload: 8 << 20,
		JetStream: true, StoreDir: b.TempDir(),
	})
	must(b, err)
	ns.Start()
	b.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	if !ns.ReadyForConnections(startTime) {
		b.Fatal("the NATS server did not start")
	}
	nc, err := nats.Connect(ns.ClientURL())
	must(b, err)
	b.Cleanup(nc.Close)
	must(b, exec.Command(cairntest.Program(b), "setup", "--nats", nc.ConnectedUrl()).Run())
	cmd := exec.Command(cairntest.Program(b), "worker", "register", "--nats", nc.ConnectedUrl())
	p, _ := served(b, nc, cmd, "cairn.health.register", "", startTime)
	_ = p.Stop()
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
