package resolve_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/bus/natsserver"
	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/resolve"
	"cairn/test/wait"
)

// serverAddress is the environment variable with the address of TestServerProcess.
const serverAddress = "CAIRN_TEST_SERVER"

// TestServerProcess is the NATS server of TestWorkerMemoryAfterDeletion, until its standard input
// ends.
func TestServerProcess(t *testing.T) {
	address := os.Getenv(serverAddress)
	if address == "" {
		t.Skip("needs " + serverAddress + ", which TestWorkerMemoryAfterDeletion sets")
	}
	server, err := natsserver.Start(t.TempDir(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	_, _ = io.Copy(io.Discard, os.Stdin) // ends with the test
}

// newMemoryTest starts a resolve worker with the embedding model, and the NATS server as another process. The test is
// not parallel: it measures the heap.
func newMemoryTest(t testing.TB, model string) *world {
	t.Helper()
	address := bustest.FreeAddress(t)
	process := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestServerProcess$") // #nosec G204 -- this test
	process.Env = append(os.Environ(), serverAddress+"="+address)
	stdin, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stdin.Close(); _ = process.Wait() }) // the test is over
	conn, err := bus.Open("nats://"+address, t.Name())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	ctx, cancel := context.WithTimeout(t.Context(), wait.Timeout)
	defer cancel()
	if err := conn.WaitConnected(ctx); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, conn: conn, catalog: openCatalog(t, conn)}
	w.startOn(conn, openIndex(t, "embedded:", openEmbedder(t, model)), true)
	return w
}

// write calls write for each key, and returns when a search includes the last change.
func (w *world) write(keys []catalog.Key, write func(context.Context, catalog.Key) (uint64, error)) {
	w.t.Helper()
	writers, ctx := errgroup.WithContext(w.t.Context())
	writers.SetLimit(64)
	for _, key := range keys {
		writers.Go(func() error {
			_, err := write(ctx, key)
			return err
		})
	}
	if err := writers.Wait(); err != nil {
		w.t.Fatal(err)
	}
	last, err := w.catalog.Revision(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	token := schemas.ConsistencyToken{Revision: last}
	wait.Until(w.t, "a search of the global scope includes the last change", func() bool {
		_, err := bus.ResolveSkill.Call(bus.WithTokens(w.t.Context(), token), w.conn, schemas.SkillQuery{Query: "a"})
		return errors.Is(err, schemas.ErrSkillNotFound)
	})
}

// TestWorkerMemoryAfterDeletion registers 1,200 records of 600 tenants and deletes them: the heap of
// a process with a resolve worker returns to that of an empty one.
func TestWorkerMemoryAfterDeletion(t *testing.T) {
	m := newMemoryTest(t, "lexical:")
	keys := func(tenants int) (list []catalog.Key) {
		for tenant := range tenants {
			for _, kind := range []string{schemas.KindSkill, schemas.KindTool} {
				list = append(list, catalog.Key{Kind: kind, Tenant: fmt.Sprint("tenant", tenant), ID: "a.b.c"})
			}
		}
		return list
	}
	register := func(ctx context.Context, key catalog.Key) (uint64, error) {
		return m.catalog.Put(ctx, key, fmt.Appendf(nil, `{"purpose":"finds things of %s","tool_ids":["a.b.c"]}`, key.Tenant))
	}
	remove := func(ctx context.Context, key catalog.Key) (revision uint64, err error) {
		revision, _, err = m.catalog.Delete(ctx, key, always)
		return revision, err
	}
	m.write(keys(100), register) // fills the buffers of connections and the last deletions of the index, which are bounded
	m.write(keys(100), remove)
	empty := resolve.Heap()
	m.write(keys(600), register)
	full := resolve.Heap()
	m.write(keys(600), remove)
	after := resolve.Heap()
	t.Logf("heap: %d KiB empty, %d KiB with 1,200 records, %d KiB without them", empty>>10, full>>10, after>>10)
	if after > empty+empty/10 {
		t.Errorf("the heap has %d KiB after the deletion, want at most 10 %% above %d", after>>10, empty>>10)
	}
}

// recordClasses are records that take much memory for their size.
var recordClasses = []struct {
	name    string
	kind    string
	records int
	record  func(id string) string
}{
	{"short records", schemas.KindSkill, 200, func(string) string { return `{"purpose":"a"}` }},
	{"tools with a provider each", schemas.KindTool, 200, func(id string) string {
		return `{"tool_class":"a","provider":"` + id + `"}`
	}},
	{"links to records that do not exist", schemas.KindSkill, 20, func(id string) string {
		return `{"purpose":"a","context_builder_ids":` + distinct(1000, id) + `}`
	}},
	{"distinct capabilities", schemas.KindSkill, 20, func(id string) string {
		return `{"purpose":"a","capabilities":` + distinct(1000, id) + `}`
	}},
	{"distinct words", schemas.KindSkill, 20, func(id string) string {
		return `{"purpose":"a","instructions":"` + strings.NewReplacer(`"`, "", ",", " ").Replace(distinct(2000, id)) + `"}`
	}},
	{"example queries", schemas.KindSkill, 200, func(id string) string {
		return `{"purpose":"a","example_queries":` + distinct(20, id) + `}`
	}},
}

// distinct returns a list of n words that other records do not have.
func distinct(n int, id string) string {
	entries := make([]string, n)
	for i := range entries {
		entries[i] = strings.Map(func(digit rune) rune { return 'a' + digit - '0' }, fmt.Sprintf("%s%05d", id, i))
	}
	return `["` + strings.Join(entries, `","`) + `"]`
}

// memoryRatio registers n records of the kind, replaces them, and returns the memory that they take for each byte that
// quotas count.
func (w *world) memoryRatio(kind string, n int, record func(id string) string) float64 {
	w.t.Helper()
	empty := resolve.Heap()
	keys := make([]catalog.Key, n)
	for i := range keys {
		keys[i] = catalog.Key{Kind: kind, Tenant: "acme", ID: fmt.Sprint("a.", i)}
	}
	var size atomic.Int64
	for _, version := range []string{"1", "2"} {
		size.Store(0)
		w.write(keys, func(ctx context.Context, key catalog.Key) (uint64, error) {
			encoded := []byte(record(version + strings.TrimPrefix(key.ID, "a.")))
			size.Add(catalog.SizeOf(key, encoded))
			return w.catalog.Put(ctx, key, encoded)
		})
	}
	return float64(resolve.Heap()-empty) / float64(size.Load())
}

// TestMemoryOfRecords bounds the memory that the records of a tenant take within its quota.
func TestMemoryOfRecords(t *testing.T) {
	// at most 15 for large tenants; with few records, up to half of the memory is unused capacity of lists
	const maxRatio = 30
	for _, row := range recordClasses {
		t.Run(row.name, func(t *testing.T) {
			ratio := newMemoryTest(t, "static:").memoryRatio(row.kind, row.records, row.record)
			if t.Logf("%.1f bytes/byte", ratio); ratio > maxRatio {
				t.Errorf("the records take %.1f times their size in memory, want at most %d", ratio, maxRatio)
			}
		})
	}
}

// BenchmarkRecordMemory measures the memory of the records of a large tenant.
func BenchmarkRecordMemory(b *testing.B) {
	for _, row := range recordClasses {
		b.Run(row.name, func(b *testing.B) {
			m := newMemoryTest(b, "static:")
			for b.Loop() {
				b.ReportMetric(m.memoryRatio(row.kind, 25*row.records, row.record), "bytes/byte")
			}
		})
	}
}
