package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bustest"
	"cairn/bus/natsserver"
	"cairn/deploy/load"

	"cairn/test/cairntest"
)

const (
	// killsFor is the default duration of the kills; CAIRN_BENCH_KILLS overrides it.
	killsFor = 10 * time.Minute
	// killEvery is the interval between two kills.
	killEvery = 20 * time.Second
	// lookEvery is the sampling interval of a process under load.
	lookEvery = 2 * time.Second
	// startedAfter is the delay before a killed process is restarted.
	startedAfter = 2 * time.Second
)

// BenchmarkKills sends SIGKILL to one of the two processes of each role in turn, and to the
// leader of the tag bucket among three NATS servers, under 70% of the maximum load. It
// reports the longest time without an expected response for each kind of request, and
// fails past the targets, in particular when an acknowledged write is lost or a stream has
// no end.
func BenchmarkKills(b *testing.B) {
	length := killsFor
	if d, err := time.ParseDuration(os.Getenv("CAIRN_BENCH_KILLS")); err == nil {
		length = d
	}
	c := newCluster(b)
	at := balance(b, c.edges)
	p := newProbe(b, at)
	highest := benched(b, "--url", "http://"+at, "--rate", "max", "--for", "10s")
	b.ReportMetric(highest.Rate, "highest/s")

	p.begin()
	killed := make(chan int)
	go func() { killed <- c.killFor(b, length, p) }()
	r := benched(b, "--url", "http://"+at, "--rate", fmt.Sprint(0.7*highest.Rate), "--for", length.String(), "--max-errors", "1",
		"--connections", "500")
	b.ReportMetric(float64(<-killed), "kills")
	p.end()
	b.ReportMetric(0, "ns/op")
	for _, o := range r.Operations {
		b.Logf("%s: %d, %d failed %v", o.Operation, o.Count, o.Failed(), o.Errors)
		switch o.Operation {
		case "by-id":
			atMost(b, 100*o.FailedShare(), "by-id-failed-%", 0.1)
		case "analyze":
			atMost(b, float64(o.Errors["no done"]), "without-done", 0)
		}
	}
	p.report(b)
}

// benched runs "cairn bench" with the mixed load and returns its result.
func benched(b *testing.B, flags ...string) load.Result {
	b.Helper()
	return benchedWhile(b, func() {}, flags...)
}

// benchedWhile is benched with periodic calls of look.
func benchedWhile(b *testing.B, look func(), flags ...string) (r load.Result) {
	b.Helper()
	file := filepath.Join(b.TempDir(), "result.json")
	cmd := exec.Command(cairntest.Program(b), append([]string{"bench", "--json", file}, flags...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	must(b, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			if err != nil {
				b.Fatalf("cairn bench: %v\n%s", err, out.Bytes())
			}
			b.Logf("%s", out.Bytes())
			text, err := os.ReadFile(file)
			must(b, err)
			must(b, json.Unmarshal(text, &r))
			return r
		case <-time.After(lookEvery):
			look()
		}
	}
}

// part is a process that is restarted when it is killed.
type part struct {
	name    string
	command func() *exec.Cmd
	cmd     *exec.Cmd
}

func (p *part) start() error {
	p.cmd = p.command()
	return p.cmd.Start()
}

// kill sends SIGKILL to the process and waits for its end.
func (p *part) kill() {
	_ = p.cmd.Process.Kill() // fails if it has already exited
	_ = p.cmd.Wait()         // reports the signal
}

// cluster is three NATS servers and two processes of each role.
type cluster struct {
	nodes, roles []*part
	nats         []string
	edges        []string
}

func newCluster(b *testing.B) *cluster {
	c := &cluster{}
	var routes []string
	for range 3 {
		c.nats, routes = append(c.nats, bustest.FreeAddress(b)), append(routes, bustest.FreeAddress(b))
	}
	url := "nats://" + strings.Join(c.nats, ",nats://")
	for i := range 3 {
		what := strings.Join([]string{"node", c.nats[i], routes[i], strings.Join(routes, ","), b.TempDir(), "node" + strconv.Itoa(i)}, " ")
		c.nodes = append(c.nodes, &part{name: "node" + strconv.Itoa(i), command: func() *exec.Cmd { return baselineCommand(b, what) }})
	}
	run := func(role string, args ...string) {
		c.roles = append(c.roles, &part{name: role, command: func() *exec.Cmd {
			return exec.Command(cairntest.Program(b),
				append(args, "--nats", url)...)
		}})
	}
	for range 2 {
		at := bustest.FreeAddress(b)
		c.edges = append(c.edges, at)
		run("edge", "edge", "--http", at)
		for _, role := range []string{"tags", "register", "resolve", "analyze"} {
			run(role, "worker", role)
		}
	}
	b.Cleanup(func() {
		for _, p := range append(c.roles, c.nodes...) {
			p.kill()
		}
	})
	for _, p := range c.nodes {
		must(b, p.start())
	}
	must(b, exec.Command(cairntest.Program(b), "setup", "--replicas", "3", "--nats", url).Run())
	for _, p := range c.roles {
		must(b, p.start())
	}
	for _, at := range c.edges {
		must(b, healthy(at))
	}
	return c
}

// serveNode runs one of three NATS servers as configured by "cairn up", without services.
// where contains its addresses, all routes, its directory and its name.
func serveNode(ctx context.Context, where string) error {
	f := strings.Fields(where)
	s, err := natsserver.StartNode(f[3], f[0], natsserver.Cluster{Name: "kills", Listen: f[1], Routes: strings.Split(f[2], ","), Node: f[4]})
	if err != nil {
		return err
	}
	defer s.Stop()
	<-ctx.Done()
	return nil
}

// killFor kills one process of each role in turn, and then the leader of the tag bucket, at
// intervals, and returns the number of kills.
func (c *cluster) killFor(b *testing.B, length time.Duration, p *probe) (kills int) {
	turns := append([]*part{nil}, c.roles...)
	for began := time.Now(); time.Since(began) < length-killEvery; kills++ {
		time.Sleep(killEvery)
		victim := turns[kills%len(turns)]
		if victim == nil {
			victim = c.leader(b)
		}
		p.note(victim.name)
		victim.kill()
		time.Sleep(startedAfter)
		if err := victim.start(); err != nil {
			b.Errorf("start %s again: %v", victim.name, err)
			return kills
		}
	}
	return kills
}

// leader returns the NATS server that leads the tag bucket.
func (c *cluster) leader(b *testing.B) *part {
	nc, err := nats.Connect("nats://" + strings.Join(c.nats, ",nats://"))
	if err != nil {
		b.Error(err)
		return c.nodes[0]
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		b.Error(err)
		return c.nodes[0]
	}
	s, err := js.Stream(b.Context(), "KV_cairn_tags")
	if err == nil {
		for _, n := range c.nodes {
			if n.name == s.CachedInfo().Cluster.Leader {
				return n
			}
		}
	}
	b.Errorf("the tag bucket has no leader: %v", err)
	return c.nodes[0]
}
