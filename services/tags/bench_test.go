package tags_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/services/tags"
)

// BenchmarkTagWrite writes tags from 32 concurrent callers, each with its own
// connection; ns/op is the mean time between responses.
func BenchmarkTagWrite(b *testing.B) {
	server, conn := bustest.Start(b)
	serve(b, conn)
	caller := bustest.Dial(b, server)
	members := map[string]jsontext.Value{"phase": jsontext.Value(`"intake"`), "domain": jsontext.Value(`"network"`)}
	b.ReportAllocs()
	b.ResetTimer()
	inParallel(b, 32, func(n int) error {
		_, err := bus.WriteTag.Call(b.Context(), caller, schemas.TagWrite{
			Tag: schemas.Tag{RequestID: fmt.Sprintf("bench-%d", n), Flow: "default", Tags: members},
		})
		return err
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
}

// BenchmarkTagRead reads one tag from 32 concurrent callers.
func BenchmarkTagRead(b *testing.B) {
	server, conn := bustest.Start(b)
	serve(b, conn)
	caller := bustest.Dial(b, server)
	tag := schemas.Tag{RequestID: "bench", Flow: "default"}
	if _, err := bus.WriteTag.Call(b.Context(), caller, schemas.TagWrite{Tag: tag}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	inParallel(b, 32, func(int) error {
		_, err := bus.ReadTag.Call(b.Context(), caller, schemas.TagKey{RequestID: "bench"})
		return err
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "reads/s")
}

func inParallel(b *testing.B, workers int, do func(n int) error) {
	b.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				if err := do(int(n)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// fill stores n tags of 100 tenants in the bucket, without a worker.
func fill(tb testing.TB, js jetstream.JetStream, n int) {
	tb.Helper()
	for i := range n {
		id, tenant := fmt.Sprintf("request-%d", i), fmt.Sprintf("tenant-%d", i%100)
		encode := base64.RawURLEncoding.EncodeToString
		msg := nats.NewMsg("$KV.cairn_tags." + encode([]byte(tenant)) + "." + encode([]byte(id)))
		msg.Header.Set(jetstream.MsgTTLHeader, "1800s")
		msg.Data = fmt.Appendf(nil, `{"request_id":%q,"flow":"default","tags":{"phase":"intake"}}`, id)
		if _, err := js.PublishMsgAsync(msg, jetstream.WithStallWait(time.Minute)); err != nil {
			tb.Fatal(err)
		}
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-time.After(5 * time.Minute):
		tb.Fatal("the tags were not stored")
	}
}

// heap returns the bytes of the heap that are in use.
func heap() int64 {
	runtime.GC()
	runtime.GC() // frees what finalizers have released
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// openWith opens a bucket of n tags, and returns the memory that the store takes for each.
func openWith(tb testing.TB, n int) (bytes float64) {
	tb.Helper()
	conn := bustest.Open(tb)
	if err := tags.Setup(tb.Context(), conn.JetStream(), tags.Settings{}); err != nil {
		tb.Fatal(err)
	}
	publisher, err := jetstream.New(conn.JetStream().Conn(), jetstream.WithPublishAsyncMaxPending(2000))
	if err != nil {
		tb.Fatal(err)
	}
	fill(tb, publisher, n)
	before := heap()
	began := time.Now()
	store, err := tags.Open(tb.Context(), conn, limited(0, 0))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Logf("counted %d tags in %v", n, time.Since(began).Round(time.Millisecond))
	bytes = float64(heap()-before) / float64(n)
	if q := store.Quota("tenant-1"); q.Count != int64(n/100) {
		tb.Errorf("got %d tags of a tenant, want %d", q.Count, n/100)
	}
	store.Close()
	return bytes
}

// TestMemoryOfTags is not parallel, since it measures the heap.
func TestMemoryOfTags(t *testing.T) {
	const limit = 20
	if bytes := openWith(t, 100_000); bytes > limit {
		t.Errorf("a worker takes %.0f bytes for each tag, want at most %d", bytes, limit)
	}
}

// serverURL is the environment variable with the NATS server of TestWorkerProcess.
const serverURL = "CAIRN_TEST_SERVER_URL"

// TestWorkerProcess is the worker of TestRealMillionTags: it counts the tags.
func TestWorkerProcess(t *testing.T) {
	url := os.Getenv(serverURL)
	if url == "" {
		t.Skip("needs " + serverURL + ", which TestRealMillionTags sets")
	}
	conn, err := bus.Open(url, t.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.WaitConnected(t.Context()); err != nil {
		t.Fatal(err)
	}
	store, err := tags.Open(t.Context(), conn, limited(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if q := store.Quota("tenant-1"); q.Count != million/100 {
		t.Errorf("got %d tags of a tenant, want %d", q.Count, million/100)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	var kib int
	if _, err := fmt.Sscan(peak, &kib); err != nil || kib > maxResident>>10 {
		t.Errorf("the RSS was at most %d KiB (%v), want at most %d", kib, err, maxResident>>10)
	}
}

const (
	million     = 1_000_000
	maxResident = 150 << 20 // of a worker with a million tags
)

// TestRealMillionTags bounds the memory of a worker, another process, with a million tags, also while it counts.
func TestRealMillionTags(t *testing.T) {
	if os.Getenv("CAIRN_TEST_LONG") == "" {
		t.Skip("needs CAIRN_TEST_LONG=1: it takes a minute")
	}
	server := bustest.Listen(t)
	conn := bustest.Dial(t, server)
	if err := tags.Setup(t.Context(), conn.JetStream(), tags.Settings{}); err != nil {
		t.Fatal(err)
	}
	fill(t, conn.JetStream(), million)
	worker := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWorkerProcess$") // #nosec G204 -- this test
	worker.Env = append(os.Environ(), serverURL+"="+server.URL())
	if out, err := worker.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
