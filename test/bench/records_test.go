package bench

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"cairn/bus/bustest"
	"cairn/test/cairntest"
)

// manyRecords is the default maximum number of records; CAIRN_BENCH_RECORDS overrides it.
const manyRecords = 1_000_000

// askedSkills is the number of different skills that are requested, for any number of
// records. Each is requested once to build its package, and then repeatedly.
const askedSkills = 400

// recordsTime is the maximum time that a worker may take to join with manyRecords.
const recordsTime = 30 * time.Minute

// loadTime is the maximum duration of the load under which memory is measured.
const loadTime = 2 * time.Minute

// BenchmarkRecords compares a resolve worker with many records to one with a thousand:
// resident memory per record (after garbage collection, and the maximum under load), the
// time to join, and the latency of a skill by id and of a search in the embedded index.
func BenchmarkRecords(b *testing.B) {
	many := manyRecords
	if n, err := strconv.Atoi(os.Getenv("CAIRN_BENCH_RECORDS")); err == nil {
		many = n
	}
	for _, n := range []int{1000, many} {
		nc := natsServer(b)
		records := library(b, n)
		fillCatalog(b, nc, records)
		skills := slices.DeleteFunc(records, func(r record) bool { return r.kind != "skill" })
		last := skills[len(skills)-1].id
		var some []record // the same number at any size
		for i := range askedSkills {
			some = append(some, skills[i*len(skills)/askedSkills])
		}
		for name, index := range map[string]string{"shared": "http://127.0.0.1:1", "embedded": "embedded:"} {
			b.Run(fmt.Sprintf("records=%d/index=%s", n, name), func(b *testing.B) {
				w := joined(b, nc, index, last)
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(w.took.Seconds(), "join-s")
				b.ReportMetric(w.rest(b)/float64(n), "resident-B/record")
				byID := func(i int) string { return fmt.Sprintf(`{"skill_id":%q}`, some[i%len(some)].id) }
				b.ReportMetric(answers(b, nc, len(some), byID), "by-id-first-p50-µs")
				b.ReportMetric(answers(b, nc, 4000, byID), "by-id-p50-µs")
				if index == "embedded:" {
					b.ReportMetric(answers(b, nc, 200, func(i int) string {
						return fmt.Sprintf(`{"query":%q}`, strings.NewReplacer("_", " ", ".", " ").Replace(some[i%len(some)].id))
					}), "search-p50-µs")
				}
				b.ReportMetric(w.loaded(b, nc, some)/float64(n), "loaded-B/record")
				_ = w.process.Stop()
			})
		}
	}
}

// member is a resolve worker that has joined.
type member struct {
	process *cairntest.Process
	metrics string // URL of its metrics
	took    time.Duration
}

func joined(b *testing.B, nc *nats.Conn, index, skill string) member {
	b.Helper()
	m := member{metrics: "http://" + bustest.FreeAddress(b)}
	cmd := exec.Command(cairntest.Program(b), "worker", "resolve", "--nats", nc.ConnectedUrl(), "--index", index,
		"--pprof", "--metrics",
		strings.TrimPrefix(m.metrics, "http://"))
	began := time.Now()
	m.process = serveRequest(b, nc, cmd, "cairn.resolve.skill", fmt.Sprintf(`{"skill_id":%q}`, skill))
	m.took = time.Since(began)
	m.waitIdle(b)
	return m
}

// waitIdle waits until the worker is idle: it indexes the words of its records in the
// background, for use while the shared index is unavailable.
func (m member) waitIdle(b *testing.B) {
	b.Helper()
	s := server{pids: []int{m.process.Cmd.Process.Pid}}
	for before, rests := s.cpuTime(b), 0; rests < 3; {
		time.Sleep(time.Second)
		now := s.cpuTime(b)
		if rests++; now-before > 20_000 {
			rests = 0
		}
		before = now
	}
}

// rest returns the RSS after a garbage collection, in bytes.
func (m member) rest(b *testing.B) float64 {
	b.Helper()
	for range 2 { // the second returns the memory that the first has freed
		cairntest.Get(b, m.metrics+"/debug/pprof/heap?gc=1")
	}
	return memoryOf(b, m.process.Cmd.Process.Pid, "VmRSS")
}

// loaded returns the maximum RSS in bytes while skills are requested and registered again,
// 20 requests for each registration, until the worker has completed two garbage collections.
func (m member) loaded(b *testing.B, nc *nats.Conn, skills []record) (most float64) {
	b.Helper()
	before := m.collections(b)
	for i, end := 0, time.Now().Add(loadTime); m.collections(b) < before+2 && time.Now().Before(end); i++ {
		fillCatalog(b, nc, skills[i%len(skills):][:1])
		answers(b, nc, 20, func(k int) string {
			return fmt.Sprintf(`{"skill_id":%q}`, skills[(20*i+k)%len(skills)].id)
		})
		most = max(most, memoryOf(b, m.process.Cmd.Process.Pid, "VmRSS"))
	}
	return most
}

// collections returns the number of garbage collections of the worker.
func (m member) collections(b *testing.B) float64 {
	b.Helper()
	return metric(b, m.metrics, "go_gc_duration_seconds_count")
}

// metric returns the value of a metric without labels of the process that serves at the URL.
func metric(b *testing.B, url, name string) float64 {
	b.Helper()
	_, text := cairntest.Get(b, url+"/metrics")
	match := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(text)
	if match == nil {
		b.Fatalf("no %s in the metrics", name)
	}
	value, err := strconv.ParseFloat(match[1], 64)
	must(b, err)
	return value
}

// answers returns the median latency of n sequential requests, in microseconds.
func answers(b *testing.B, nc *nats.Conn, n int, body func(i int) string) float64 {
	b.Helper()
	var took []float64
	for i := range n {
		began := time.Now()
		answer, err := nc.Request("cairn.resolve.skill", []byte(body(i)), recordsTime)
		must(b, err)
		took = append(took, float64(time.Since(began).Nanoseconds())/1000)
		if answer.Header.Get("Nats-Service-Error") != "" {
			b.Fatalf("%s: %s", body(i), answer.Data)
		}
	}
	return median(took)
}
