package test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/bus/bustest"
	"cairn/test/wait"

	"cairn/test/cairntest"
)

// machines are three "cairn up" processes of one cluster.
type machines struct {
	t       testing.TB
	program string
	routes  []string
	data    []string
	https   []string
	flags   []string // of all machines
	list    []*cairntest.Process
}

func newMachines(t testing.TB) *machines {
	t.Helper()
	program := cairntest.Program(t)
	m := &machines{t: t, program: program, list: make([]*cairntest.Process, 3)}
	dir := t.TempDir()
	for i := range 3 {
		m.routes = append(m.routes, bustest.FreeAddress(t))
		m.https = append(m.https, bustest.FreeAddress(t))
		m.data = append(m.data, filepath.Join(dir, strconv.Itoa(i)))
	}
	t.Cleanup(func() {
		for i, p := range m.list {
			if p != nil && t.Failed() {
				t.Logf("machine %d:\n%s", i, p.Stderr.String())
			}
		}
		m.kill(0, 1, 2)
	})
	return m
}

// run starts the machines and returns immediately.
func (m *machines) run(which ...int) {
	for _, i := range which {
		m.list[i] = m.up(i, append(slices.Clone(m.flags), "--cluster", "test", "--cluster-listen", m.routes[i],
			"--cluster-secret", "s", "--routes", strings.Join(m.routes, ","))...)
	}
}

func (m *machines) up(i int, flags ...string) *cairntest.Process {
	args := []string{"up", "--http", m.https[i], "--nats-listen", "127.0.0.1:0", "--data", m.data[i], "--model",
		"offline:"}
	return launch(m.program, append(args, flags...)...)
}

// awaitRunning waits until the services of these machines run. The health of a
// cluster is ok before that, as soon as one machine's services do.
func (m *machines) awaitRunning(list ...int) {
	m.t.Helper()
	for _, i := range list {
		wait.Until(m.t, fmt.Sprintf("machine %d runs", i), func() bool {
			return strings.Contains(m.list[i].Stdout.String(), "is running.")
		})
	}
}

// kill sends SIGKILL to the machines and waits for them.
func (m *machines) kill(list ...int) {
	for _, i := range list {
		if p := m.list[i]; p != nil {
			p.Kill()
			m.list[i] = nil
		}
	}
}

// clients returns one client per machine.
func (m *machines) clients() []*client {
	transport := &http.Transport{MaxIdleConnsPerHost: 32}
	m.t.Cleanup(transport.CloseIdleConnections)
	c := &client{system: &system{}, word: word(), http: &http.Client{Transport: transport, Timeout: time.Minute}}
	var list []*client
	for _, address := range m.https {
		list = append(list, c.at("http://"+address))
	}
	return list
}

// awaitHealth waits until /health has the status and contains the text.
func (c *client) awaitHealth(t testing.TB, status int, text string) {
	t.Helper()
	wait.Until(t, "the health reports "+text, func() bool {
		a, err := c.try(t.Context(), "GET /health", "")
		return err == nil && a.status == status && strings.Contains(a.body, text)
	})
}

// awaitClusterMetrics waits for these values of the cluster metrics.
func (c *client) awaitClusterMetrics(t testing.TB, nodes, quorum int) {
	t.Helper()
	wait.Until(t, "the metrics report the cluster", func() bool {
		all := c.call(t, "GET /metrics", "").body
		equals := func(name string, value int) bool {
			return strings.Contains(all, fmt.Sprintf("\ncairn_cluster_%s %d\n", name, value))
		}
		return equals("nodes", nodes) && equals("nodes_wanted", 3) && equals("quorum", quorum) && equals("replicas_behind", 0)
	})
}

const allWell = `"service":"cairn","status":"ok"`

// TestCluster stops and restarts the nodes of a cluster of three: it serves with
// two nodes, reports lost quorum with one, and recovers with all acknowledged data.
func TestCluster(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	c := m.clients()
	m.run(2)
	c[2].awaitHealth(t, 503, "no quorum: 1 of 3 nodes of the cluster are connected")
	c[2].awaitClusterMetrics(t, 1, 0)
	m.run(1, 0)
	for _, edge := range c {
		edge.awaitHealth(t, 200, allWell)
		edge.awaitClusterMetrics(t, 3, 1)
	}
	m.awaitRunning(0, 1, 2)
	c[0].put(t, [2]string{"skill", `{"skill_id":"$.a","purpose":"$"}`})
	c[0].do(t, "POST /tags/write", `{"request_id":"$","flow":"f"}`)
	sees := func(c *client) {
		t.Helper()
		wait.Until(t, "the tag is found", func() bool { return c.call(t, "GET /tags/$", "").status == 200 })
		c.call(t, "POST /resolve/skill", `{"query":"$","top_k":1}`).expect(t, 200, "", `{"skills":[{"skill_id":"$.a"}]}`)
	}
	sees(c[1])
	sees(c[2])

	m.kill(0)
	c[1].awaitHealth(t, 200, "2 of 3 nodes of the cluster are connected")
	c[1].awaitClusterMetrics(t, 2, 1)
	wait.Until(t, "a record is registered without the first node", func() bool {
		return c[1].call(t, "POST /register/skill", `{"record":{"skill_id":"$.b"}}`).status == 200
	})
	wait.Until(t, "a tag is written without the first node", func() bool {
		return c[2].call(t, "POST /tags/write", `{"request_id":"$2","flow":"f"}`).status == 201
	})
	sees(c[2])

	m.kill(1)
	c[2].awaitHealth(t, 503, "no quorum: 1 of 3 nodes of the cluster are connected")
	c[2].awaitClusterMetrics(t, 1, 0)
	c[2].call(t, "GET /health/ready", "").expect(t, 200, "", "") // local reads need no quorum
	c[2].call(t, "POST /resolve/skill", `{"skill_id":"$.a"}`).expect(t, 200, "", `{"skill_id":"$.a"}`)
	var received sync.WaitGroup
	for _, request := range []string{"POST /tags/write", "GET /tags/$", "POST /register/skill"} {
		body := `{"request_id":"$3","flow":"f"}`
		if strings.Contains(request, "register") {
			body = `{"record":{"skill_id":"$.c"}}`
		}
		received.Go(func() {
			if a, err := c[2].try(t.Context(), request, body); err != nil || a.status != 503 ||
				!strings.Contains(a.body, "CE-011") {
				t.Errorf("%s without a quorum: %d %s, %v", request, a.status, a.body, err)
			}
		})
	}
	received.Wait()

	m.run(0, 1)
	for _, edge := range c {
		edge.awaitHealth(t, 200, allWell)
		sees(edge)
		edge.call(t, "POST /resolve/skill", `{"skill_id":"$.b"}`).expect(t, 200, "", `{"skill_id":"$.b"}`)
	}
	for _, p := range m.list {
		p.Terminate()
	}
	for i, p := range m.list {
		if err := p.Wait(); err != nil {
			t.Error(err)
		}
		m.list[i] = nil
	}
}

// operate runs a command against the NATS server of the machine.
func (m *machines) operate(i int, args ...string) {
	m.t.Helper()
	p := launch(m.program, append(args, "--nats", m.list[i].NATS())...)
	if err := p.Wait(); err != nil {
		m.t.Fatalf("cairn %v: %v\n%s", args, err, p.Stderr.String())
	}
}

// TestGrowFromOneNodeToThree follows the runbook of edge/docs/clustering.md: it backs up
// a stand-alone node and restores the backup to three new nodes.
func TestGrowFromOneNodeToThree(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	c := m.clients()
	m.list[1] = m.up(1)
	c[1].awaitHealth(t, 200, allWell)
	c[1].put(t, [2]string{"skill", `{"skill_id":"$.a","purpose":"$"}`})
	c[1].do(t, "POST /tags/write", `{"request_id":"$","flow":"f"}`)
	file := filepath.Join(t.TempDir(), "cairn.backup")
	m.operate(1, "backup", file)
	m.list[1].Terminate()
	must(t, m.list[1].Wait())
	node := m.up(1, "--cluster", "test", "--cluster-listen", m.routes[1], "--routes", m.routes[0], "--insecure")
	if err := node.Wait(); err == nil || !strings.Contains(node.Stderr.String(), "restore a backup") {
		t.Errorf("a cluster node started with the data of a stand-alone one: %v, want an error", err)
	}
	m.data[1] += "-new"
	m.run(0, 1, 2)
	m.awaitRunning(0, 1, 2)
	m.operate(0, "restore", file, "--replicas", "3")
	for _, client := range c {
		client.awaitHealth(t, 200, allWell)
	}
	for i := range m.list { // each node in turn
		m.kill(i)
		other := c[(i+1)%3]
		wait.Until(t, "the tag is found without a node", func() bool {
			return other.call(t, "GET /tags/$", "").status == 200
		})
		wait.Until(t, "the skill is found without it", func() bool {
			a := other.call(t, "POST /resolve/skill", `{"query":"$","top_k":1}`)
			return a.status == 200 && strings.Contains(a.body, other.named("$.a"))
		})
		m.run(i)
		for _, client := range c {
			client.awaitHealth(t, 200, allWell)
			client.awaitClusterMetrics(t, 3, 1)
		}
	}
}
