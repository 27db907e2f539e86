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
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

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
	// maxP99 is the maximum 99th percentile under attack, or that of an idle server if that is higher.
	maxP99 = 250 * time.Millisecond
)

// class is a class of endpoints, such as reads of tags; request returns its nth one.
type class struct {
	name        string
	connections int // of the attacker
	request     func(sender string, n int64) call
	// endless marks streams that do not end. The client disconnects after read bytes, or the
	// first data.
	endless bool
	read    int64
	// absent accepts 404, the response to a deletion that came before the creation.
	absent bool
}

// answers reports whether the request succeeded.
func (cl class) answers(status int) bool {
	return status < 300 || cl.absent && status == http.StatusNotFound
}

type call struct{ method, path, body string }

func post(path, format string, args ...any) call {
	return call{http.MethodPost, path, fmt.Sprintf(format, args...)}
}

const estate = `{"hosts":[{"name":"a","site":"Oslo"},{"name":"b","site":"Bergen"},{"name":"c","site":"Oslo"}]}`

func retrieve(path string) call { return call{http.MethodGet, path, ""} }

// fixed returns a class whose requests are equal.
func fixed(name string, r call) class {
	return class{name: name, connections: attackConnections, request: func(string, int64) call { return r }}
}

// numbered returns a class whose requests differ by a number below records in the body.
func numbered(name, path, format string) class {
	return class{name: name, connections: attackConnections, request: func(_ string, n int64) call {
		return post(path, format, n%records)
	}}
}

// alternating returns a class that creates a thing and deletes it alternately. A deletion may
// come first, and is then answered with 404.
func alternating(name string, create func(id string) call, path string) class {
	return class{name: name, connections: attackConnections, absent: true, request: func(sender string, n int64) call {
		id := fmt.Sprintf("%s-%s-%d", name, sender, n/2)
		if n%2 == 0 {
			return create(id)
		}
		return call{http.MethodDelete, path + id, ""}
	}}
}

func writeTag(id string) call {
	return post("/tags/write", `{"request_id":%q,"flow":"f","tags":{"phase":"plan"}}`, id)
}

// analysis returns the nth analysis of the sender, about an estate.
func analysis(sender string, n int64, estate string) call {
	context, _ := json.Marshal(estate) // a string always encodes
	return post("/api/v1/analyze", `{"query":"how many hosts are in Oslo?","target":"H","context":%s,"id":"%s-%d"}`,
		context, sender, n)
}

// largeEstate has about 1 MB.
var largeEstate = sync.OnceValue(func() string {
	host := `{"name":"a","site":"Oslo","rack":"r1","role":"storage","os":"linux"}`
	return `{"hosts":[` + strings.Repeat(host+",", 1<<20/len(host)) + host + `]}`
})

var classes = []class{
	{name: "write-tag", connections: attackConnections, request: func(s string, n int64) call {
		return writeTag(fmt.Sprintf("%s-%d", s, n))
	}},
	fixed("read-tag", retrieve("/tags/known")),
	alternating("delete-tag", writeTag, "/tags/"),
	numbered("resolve", "/resolve/skill", `{"skill_id":"network.s%d"}`),
	numbered("search", "/resolve/skill", `{"query":"which vlans are in site %d","top_k":5}`),
	numbered("agent", "/resolve/agent", `{"query":"agent for the vlans of site %d"}`),
	numbered("context", "/resolve/context", `{"skill_id":"network.s%d"}`),
	numbered("tools", "/resolve/tools", `{"tool_ids":["netbox.vlans.list","netbox.absent.t%d"]}`),
	fixed("tool-class", post("/resolve/tool_class", `{"tool_class":"inventory"}`)),
	numbered("template", "/resolve/template", `{"skill_id":"network.s%d"}`),
	numbered("guardrail", "/resolve/guardrail", `{"skill_id":"network.s%d"}`),
	{name: "register", connections: attackConnections, request: skill},
	alternating("unregister", func(id string) call {
		return post("/register/tool", `{"tool_data":{"tool_id":"netbox.t.%s"}}`, id)
	},
		"/register/tool/netbox.t."),
	fixed("list", retrieve("/skills?limit=100")),
	numbered("record", "/records", `{"kind":"tool","record":{"tool_id":"netbox.one.t%d"}}`),
	fixed("get-record", retrieve("/records/tool/netbox.vlans.list")),
	fixed("history", retrieve("/records/skill/network.s1/history")),
	fixed("referrers", retrieve("/records/template/network.report/referrers")),
	fixed("usage", retrieve("/records/skill/network.s1/usage")),
	{name: "bulk", connections: attackRuns, request: func(_ string, n int64) call {
		var lines strings.Builder
		for i := range int64(50) {
			fmt.Fprintf(&lines, `{"kind":"tool","record":{"tool_id":"netbox.bulk.t%d"}}`+"\n", (50*n+i)%records)
		}
		return post("/records", "%s", lines.String())
	}},
	{name: "watch", connections: attackRuns, request: func(string, int64) call {
		return retrieve("/watch?kind=skill")
	}, endless: true},
	{name: "replay", connections: attackRuns, request: func(string, int64) call {
		return retrieve("/watch?after=0")
	}, endless: true, read: 64 << 10},
	numbered("mcp", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"resolve_skill","arguments":{"skill_id":"network.s%d"}}}`),
	fixed("registry", retrieve("/v0.1/servers?limit=10")),
	{name: "analyze", connections: attackRuns, request: func(s string, n int64) call { return analysis(s, n, estate) }},
	{name: "upload", connections: attackRuns, request: func(s string, n int64) call {
		return analysis(s, n, largeEstate())
	}},
	fixed("runs", retrieve("/runs")), // of the classes before
}

// records is the number of skills of each tenant.
const records = 500

func skill(_ string, n int64) call {
	return post("/register/skill",
		`{"record":{"skill_id":"network.s%d","domain":"network","display_name":"Find VLANs %d",`+
			`"purpose":"Find the VLANs of site %d","description":"Lists VLANs with their ids and the switches that carry them in site %d.",`+
			`"capabilities":["list vlans","filter by site %d"],"template_id":"network.report","status":"active"}}`, n%records, n,
		n%records, n%records, n%records)
}

// BenchmarkFairness sends ten times one tenant's share of requests to one endpoint class,
// ignoring Retry-After, and measures another tenant's requests to the same class. It fails
// when one of these is refused, or when their 99th percentile exceeds maxP99. The attacker runs in a process of the
// lowest priority, because a real attacker does not use the CPUs of the server.
func BenchmarkFairness(b *testing.B) {
	cairn := up(b, "--auth", "keys")
	quiet := cairntest.CreateKey(b, cairn.process.NATS(), "--tenant", "globex", "--role", "admin")
	noisy := cairntest.CreateKey(b, cairn.process.NATS(), "--tenant", "acme", "--role", "admin")
	for _, key := range []string{quiet, noisy} {
		c := dial(b, cairn.address)
		c.key = key
		for n := range int64(records) {
			if status, err := c.do(skill("", n)); err != nil || status != http.StatusOK {
				b.Fatalf("register: %d %v", status, err)
			}
		}
		for _, r := range []call{
			writeTag("known"),
			post("/register/agent", `{"agent_data":{"agent_id":"network.agent","capabilities":["vlans"],"description":"Agent for VLANs of a site"}}`),
			post("/register/tool", `{"tool_data":{"tool_id":"netbox.vlans.list","tool_class":"inventory","description":"Lists VLANs"}}`),
			post("/register/tool", `{"tool_data":{"tool_id":"netbox.mcp.server","tool_class":"mcp_server","description":"NetBox"}}`),
			post("/register/context_builder",
				`{"cb_data":{"context_builder_id":"network.sites","domain":"network","context_type":"inventory"}}`),
			post("/register/template", `{"template_data":{"template_id":"network.report","blocks":[1]}}`),
			post("/register/guardrail", `{"guardrail_data":{"guardrail_id":"network.read","domain":"network"}}`),
		} {
			if status, err := c.do(r); err != nil || status > http.StatusCreated {
				b.Fatalf("%s: %d %v", r.path, status, err)
			}
		}
	}
	for _, class := range classes {
		b.Run(class.name, func(b *testing.B) {
			idle := measure(b, cairn.address, quiet, class)
			stop := attack(b, cairn.address, noisy, class)
			time.Sleep(warmUp)
			loaded := measure(b, cairn.address, quiet, class)
			attacked := stop()
			b.Logf("idle p50 %v p99 %v, under attack p50 %v p99 %v max %v, %d answered, %d refused, %d failed; attacker %.0f/s answered, %.0f/s refused, %d failed",
				idle.at(0.5), idle.p99(), loaded.at(0.5), loaded.p99(), loaded.at(1), loaded.Answered, loaded.Refused,
				loaded.Failed,
				float64(attacked.Answered)/attacked.Seconds, float64(attacked.Refused)/attacked.Seconds, attacked.Failed)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(milliseconds(idle.p99()), "idle-p99-ms")
			b.ReportMetric(milliseconds(loaded.p99()), "p99-ms")
			b.ReportMetric(milliseconds(loaded.at(0.5)), "p50-ms")
			b.ReportMetric(float64(attacked.Answered)/attacked.Seconds, "attack-answered/s")
			b.ReportMetric(float64(attacked.Refused)/attacked.Seconds, "attack-refused/s")
			b.ReportMetric(float64(attacked.Failed), "attack-failed")
			atMost(b, float64(loaded.Refused+loaded.Failed), "refused", 0)
			if most := max(maxP99, idle.p99()); loaded.p99() > most {
				b.Errorf("p99 under attack: %v, want at most %v", loaded.p99(), most)
			}
		})
	}
}

// first sends a request and reads the first n bytes of the response. The connection cannot be
// used again.
func (c *client) first(r call, n int64) (int, error) {
	res, err := c.send(r)
	if err != nil {
		return 0, err
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, n))
	if err == nil && res.StatusCode == http.StatusOK && int64(len(body)) < n {
		err = fmt.Errorf("the stream ended after %d bytes: %q", len(body), body[max(0, len(body)-200):])
	}
	return res.StatusCode, err
}

// send sends the request of a class over the connection. A class with endless responses needs
// a new one for each.
func (cl class) send(c *client, r call) (int, error) {
	if cl.endless {
		return c.first(r, max(1, cl.read))
	}
	return c.do(r)
}

// redial replaces the connection by a new one to the address.
func (c *client) redial(address string) error {
	_ = c.conn.Close()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	c.conn = conn
	c.in.Reset(conn)
	return nil
}

// tally counts the outcomes of requests.
type tally struct {
	Answered, Refused, Failed int64
	Seconds                   float64
	took                      []time.Duration // latencies of successful requests, sorted
}

func (t tally) at(share float64) time.Duration { return t.took[int(share*float64(len(t.took)-1))] }
func (t tally) p99() time.Duration             { return t.at(0.99) }

func (t *tally) count(kind class, status int, err error) {
	switch {
	case err != nil:
		t.Failed++
	case status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests:
		t.Refused++
	case !kind.answers(status):
		t.Failed++
	default:
		t.Answered++
	}
}

var measured atomic.Int64 // number of measured requests

// measure sends requests of the class for the duration fairPeriod.
func measure(b *testing.B, address, key string, kind class) tally {
	b.Helper()
	const connections = 4
	var all tally
	var mu sync.Mutex
	var sending sync.WaitGroup
	end := time.Now().Add(fairPeriod)
	for range connections {
		c := dial(b, address)
		c.key = key
		sending.Go(func() {
			var mine tally
			for time.Now().Before(end) {
				r := kind.request("quiet", measured.Add(1))
				sent := time.Now()
				status, err := kind.send(c, r)
				took := time.Since(sent)
				if kind.endless && err == nil {
					err = c.redial(address)
				}
				if mine.count(kind, status, err); err != nil {
					break
				}
				if kind.answers(status) {
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
func attack(b *testing.B, address, key string, kind class) (stop func() tally) {
	b.Helper()
	self, err := os.Executable()
	must(b, err)
	spec, err := json.Marshal(attackSpec{address, key, kind.name})
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
	kind := classes[slices.IndexFunc(classes, func(c class) bool { return c.name == s.Class })]
	tallies := make([]tally, kind.connections)
	var n atomic.Int64
	var sending sync.WaitGroup
	began := time.Now()
	for i := range tallies {
		sending.Go(func() {
			for ctx.Err() == nil {
				tallies[i].send(ctx, s, kind, &n)
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
func (t *tally) send(ctx context.Context, s attackSpec, kind class, n *atomic.Int64) {
	conn, err := net.Dial("tcp", s.At)
	if err != nil {
		t.Failed++
		return
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
	c := &client{conn: conn, in: bufio.NewReaderSize(conn, 4<<10), key: s.Key}
	for ctx.Err() == nil {
		status, err := kind.send(c, kind.request("noisy", n.Add(1)))
		if ctx.Err() != nil {
			return
		}
		if t.count(kind, status, err); err != nil || kind.endless {
			return
		}
	}
}
