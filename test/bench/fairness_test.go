package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"cairn/bus/bustest"

	"cairn/test/cairntest"
)

const (
	// attackConnections is ten times the share that each of two tenants has of the concurrency
	// limit of a service (--slots 1024), and attackRuns ten times the same share of the runs.
	attackConnections = 4550
	attackRuns        = 140
	// warmUp is the duration of an attack before latencies are measured.
	warmUp = 2 * time.Second
	// fairPeriod is the duration of a measurement, idle and under attack.
	fairPeriod = 8 * time.Second
	// thinkTime is the time between a response and the next request on a connection of the
	// measured tenant.
	thinkTime = 5 * time.Millisecond
	// maxP99 is a 99th percentile that always passes; above it, the percentile may be at
	// most maxSlowdown times that of an idle server.
	maxP99, maxSlowdown = 50 * time.Millisecond, 3
)

// class is a class of endpoints, such as reads of tags; of returns its nth request.
type class struct {
	name        string
	connections int // of the attacker
	of          func(sender string, n int64) call
}

type call struct{ method, path, body string }

func post(path, format string, args ...any) call {
	return call{http.MethodPost, path, fmt.Sprintf(format, args...)}
}

const estate = `{"hosts":[{"name":"a","site":"Oslo"},{"name":"b","site":"Bergen"},{"name":"c","site":"Oslo"}]}`

var classes = []class{
	{"write-tag", attackConnections, func(s string, n int64) call {
		return post("/tags/write", `{"request_id":"%s-%d","flow":"f","tags":{"phase":"plan"}}`, s, n)
	}},
	{"read-tag", attackConnections, func(s string, n int64) call {
		return call{http.MethodGet, "/tags/known", ""}
	}},
	{"resolve", attackConnections, func(s string, n int64) call {
		return post("/resolve/skill", `{"skill_id":"network.s%d"}`, n%records)
	}},
	{"search", attackConnections, func(s string, n int64) call {
		return post("/resolve/skill", `{"query":"which vlans are in site %d","top_k":5}`, n%records)
	}},
	{"register", attackConnections, func(s string, n int64) call { return skill(s, n) }},
	{"list", attackConnections, func(s string, n int64) call {
		return call{http.MethodGet, "/skills?limit=100", ""}
	}},
	{"analyze", attackRuns, func(s string, n int64) call {
		context, _ := json.Marshal(estate)
		return post("/api/v1/analyze", `{"query":"how many hosts are in Oslo?","target":"H","context":%s,"id":"%s-%d"}`, context, s, n)
	}},
}

// records is the number of skills of each tenant.
const records = 500

func skill(_ string, n int64) call {
	return post("/register/skill", `{"record":{"skill_id":"network.s%d","domain":"network","display_name":"Find VLANs %d",`+
		`"purpose":"Find the VLANs of site %d","description":"Lists VLANs with their ids and the switches that carry them in site %d.",`+
		`"capabilities":["list vlans","filter by site %d"],"status":"active"}}`, n%records, n, n%records, n%records, n%records)
}

// BenchmarkFairness sends ten times one tenant's share of requests to one endpoint class,
// ignoring Retry-After, and measures another tenant's requests to the same class. It fails
// when one of these is refused, or when their 99th percentile exceeds both 50 ms and three
// times that of an idle server. The attacker runs in a process of the lowest priority,
// because a real one does not use the CPUs of the server.
func BenchmarkFairness(b *testing.B) {
	nats := bustest.FreeAddress(b)
	at := start(b, exec.Command(cairntest.Program(b), "up", "--http", "127.0.0.1:0", "--nats-listen", nats, "--data", b.TempDir(), "--model",
		"offline:", "--auth", "keys"))
	quiet, noisy := apiKey(b, nats, "globex"), apiKey(b, nats, "acme")
	for _, key := range []string{quiet, noisy} {
		c := dial(b, at.at)
		c.key = key
		for n := range int64(records) {
			if status, err := c.do(skill("", n)); err != nil || status != http.StatusOK {
				b.Fatalf("register: %d %v", status, err)
			}
		}
		if status, err := c.do(post("/tags/write", `{"request_id":"known","flow":"f","tags":{}}`)); err != nil || status != http.StatusCreated {
			b.Fatalf("write a tag: %d %v", status, err)
		}
	}
	for _, class := range classes {
		b.Run(class.name, func(b *testing.B) {
			idle := measure(b, at.at, quiet, class)
			stop := attack(b, at.at, noisy, class)
			time.Sleep(warmUp)
			loaded := measure(b, at.at, quiet, class)
			attacked := stop()
			b.Logf("idle p50 %v p99 %v, under attack p50 %v p99 %v max %v, %d answered, %d refused, %d failed; attacker %.0f/s answered, %.0f/s refused, %d failed",
				idle.at(0.5), idle.p99(), loaded.at(0.5), loaded.p99(), loaded.at(1), loaded.Answered, loaded.Refused, loaded.Failed,
				float64(attacked.Answered)/attacked.Seconds, float64(attacked.Refused)/attacked.Seconds, attacked.Failed)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(milliseconds(idle.p99()), "idle-p99-ms")
			b.ReportMetric(milliseconds(loaded.p99()), "p99-ms")
			b.ReportMetric(milliseconds(loaded.at(0.5)), "p50-ms")
			b.ReportMetric(float64(attacked.Answered)/attacked.Seconds, "attack-answered/s")
			b.ReportMetric(float64(attacked.Refused)/attacked.Seconds, "attack-refused/s")
			b.ReportMetric(float64(attacked.Failed), "attack-failed")
			atMost(b, float64(loaded.Refused+loaded.Failed), "refused", 0)
			if most := max(maxP99, maxSlowdown*idle.p99()); loaded.p99() > most {
				b.Errorf("p99 under attack: %v, want at most %v", loaded.p99(), most)
			}
		})
	}
}

// apiKey creates a key for an admin of the tenant.
func apiKey(b *testing.B, nats, tenant string) string {
	b.Helper()
	out, err := exec.Command(cairntest.Program(b), "key", "create", "--tenant", tenant, "--role", "admin", "-o", "json", "--nats",
		"nats://"+nats).Output()
	must(b, err)
	key := madeKey.FindSubmatch(out)
	if key == nil {
		b.Fatalf("no key in %s", out)
	}
	return string(key[1])
}

// do sends a request, reads the whole response and returns its status.
func (c *client) do(r call) (int, error) {
	c.out.Reset()
	c.out.WriteString(r.method + " " + r.path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + c.key +
		"\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(r.body)) + "\r\n\r\n" + r.body)
	if _, err := c.conn.Write(c.out.Bytes()); err != nil {
		return 0, err
	}
	res, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, err
}

// tally counts the outcomes of requests.
type tally struct {
	Answered, Refused, Failed int64
	Seconds                   float64
	took                      []time.Duration // latencies of successful requests, sorted
}

func (t tally) at(share float64) time.Duration { return t.took[int(share*float64(len(t.took)-1))] }
func (t tally) p99() time.Duration             { return t.at(0.99) }

func (t *tally) count(status int, err error) {
	switch {
	case err != nil:
		t.Failed++
	case status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests:
		t.Refused++
	case status >= 300:
		t.Failed++
	default:
		t.Answered++
	}
}

var measured atomic.Int64 // number of measured requests

// measure sends requests of the class for the duration fairPeriod.
func measure(b *testing.B, at, key string, of class) tally {
	b.Helper()
	const connections = 4
	var all tally
	var mu sync.Mutex
	var sending sync.WaitGroup
	end := time.Now().Add(fairPeriod)
	for range connections {
		c := dial(b, at)
		c.key = key
		sending.Go(func() {
			var mine tally
			for time.Now().Before(end) {
				r := of.of("quiet", measured.Add(1))
				sent := time.Now()
				status, err := c.do(r)
				took := time.Since(sent)
				if mine.count(status, err); err != nil {
					break
				}
				if status < 300 {
					mine.took = append(mine.took, took)
				}
				time.Sleep(thinkTime)
			}
			mu.Lock()
			defer mu.Unlock()
			all.took = append(all.took, mine.took...)
			all.Answered, all.Refused, all.Failed = all.Answered+mine.Answered, all.Refused+mine.Refused, all.Failed+mine.Failed
		})
	}
	sending.Wait()
	if len(all.took) == 0 {
		b.Fatalf("nothing was answered: %d refused, %d failed", all.Refused, all.Failed)
	}
	slices.Sort(all.took)
	return all
}

// attack sends requests of the class from a separate process until stop, which returns
// their outcomes.
func attack(b *testing.B, at, key string, of class) (stop func() tally) {
	b.Helper()
	self, err := os.Executable()
	must(b, err)
	spec, err := json.Marshal(attackSpec{at, key, of.name})
	must(b, err)
	cmd := exec.Command("nice", "-n", "19", self)
	cmd.Env = append(os.Environ(), baselineVariable+"=attack "+string(spec))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(b, err)
	must(b, cmd.Start())
	return func() tally {
		var t tally
		must(b, cmd.Process.Signal(syscall.SIGTERM))
		must(b, json.NewDecoder(out).Decode(&t))
		must(b, cmd.Wait())
		return t
	}
}

type attackSpec struct{ At, Key, Class string }

// runAttack is the main function of the attacking process.
func runAttack(ctx context.Context, spec string) error {
	var s attackSpec
	if err := json.Unmarshal([]byte(spec), &s); err != nil {
		return err
	}
	of := classes[slices.IndexFunc(classes, func(c class) bool { return c.name == s.Class })]
	tallies := make([]tally, of.connections)
	var n atomic.Int64
	var sending sync.WaitGroup
	began := time.Now()
	for i := range tallies {
		sending.Go(func() {
			for ctx.Err() == nil {
				tallies[i].send(ctx, s, of, &n)
				time.Sleep(10 * time.Millisecond) // after a failure
			}
		})
	}
	sending.Wait()
	all := tally{Seconds: time.Since(began).Seconds()}
	for _, t := range tallies {
		all.Answered, all.Refused, all.Failed = all.Answered+t.Answered, all.Refused+t.Refused, all.Failed+t.Failed
	}
	return json.NewEncoder(os.Stdout).Encode(all)
}

// send sends requests on one connection until an error or the end of ctx.
func (t *tally) send(ctx context.Context, s attackSpec, of class, n *atomic.Int64) {
	conn, err := net.Dial("tcp", s.At)
	if err != nil {
		t.Failed++
		return
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
	c := &client{conn: conn, in: bufio.NewReaderSize(conn, 4<<10), key: s.Key}
	for ctx.Err() == nil {
		status, err := c.do(of.of("noisy", n.Add(1)))
		if ctx.Err() != nil {
			return
		}
		if t.count(status, err); err != nil {
			return
		}
	}
}
