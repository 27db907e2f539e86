package test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"cairn/bus/bustest"

	"cairn/test/cairntest"
)

// machines are three cairn up that are one cluster.
type machines struct {
	t       testing.TB
	program string
	routes  []string
	data    []string
	https   []string
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

// run starts the machines, without waiting for them.
func (m *machines) run(which ...int) {
	for _, i := range which {
		m.list[i] = m.up(i, "--cluster", "test", "--cluster-listen", m.routes[i], "--cluster-secret", "s", "--routes", strings.Join(m.routes, ","))
	}
}

func (m *machines) up(i int, more ...string) *cairntest.Process {
	args := []string{"up", "--http", m.https[i], "--nats-listen", "127.0.0.1:0", "--data", m.data[i], "--model", "offline:"}
	return launch(m.program, append(args, more...)...)
}

// kill ends the machines as a loss of power to their processes does.
func (m *machines) kill(which ...int) {
	for _, i := range which {
		if p := m.list[i]; p != nil {
			p.Kill()
			m.list[i] = nil
		}
	}
}

// clients ask one machine each.
func (m *machines) clients() []*client {
	transport := &http.Transport{MaxIdleConnsPerHost: 32}
	m.t.Cleanup(transport.CloseIdleConnections)
	c := &client{system: &system{}, word: word(), http: &http.Client{Transport: transport, Timeout: time.Minute}}
	var list []*client
	for _, at := range m.https {
		list = append(list, c.at("http://"+at))
	}
	return list
}

// says waits until the machine's health has that in it.
func (c *client) says(t testing.TB, status int, has string) {
	t.Helper()
	soon(t, "the health says "+has, patient, func() bool {
		a, err := c.try(t.Context(), "GET /health", "")
		return err == nil && a.status == status && strings.Contains(a.body, has)
	})
}

// tells waits until the machine's metrics say that of the cluster.
func (c *client) tells(t testing.TB, nodes, quorum int) {
	t.Helper()
	soon(t, "the metrics tell of the cluster", patient, func() bool {
		all := c.ask(t, "GET /metrics", "").body
		is := func(name string, value int) bool {
			return strings.Contains(all, fmt.Sprintf("\ncairn_cluster_%s %d\n", name, value))
		}
		return is("nodes", nodes) && is("nodes_wanted", 3) && is("quorum", quorum) && is("copies_behind", 0)
	})
}

const allWell = `"service":"cairn","status":"ok"`

// Three machines answer for each other, go on without one, say so when there
// are too few, and come back with all that was answered.
func TestCluster(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	c := m.clients()
	m.run(2)
	c[2].says(t, 503, "no quorum: 1 of 3 nodes of the cluster are connected")
	c[2].tells(t, 1, 0)
	m.run(1, 0)
	for _, one := range c {
		one.says(t, 200, allWell)
		one.tells(t, 3, 1)
	}
	c[0].put(t, [2]string{"skill", `{"skill_id":"$.a","purpose":"$"}`})
	c[0].do(t, "POST /tags/write", `{"request_id":"$","flow":"f"}`)
	sees := func(c *client) {
		t.Helper()
		soon(t, "the tag is read", patient, func() bool { return c.ask(t, "GET /tags/$", "").status == 200 })
		c.ask(t, "POST /resolve/skill", `{"query":"$","top_k":1}`).expect(t, 200, "", `{"skills":[{"skill_id":"$.a"}]}`)
	}
	sees(c[1])
	sees(c[2])

	m.kill(0)
	c[1].says(t, 200, "2 of 3 nodes of the cluster are connected")
	c[1].tells(t, 2, 1)
	soon(t, "a record is taken without the first machine", patient, func() bool {
		return c[1].ask(t, "POST /register/skill", `{"record":{"skill_id":"$.b"}}`).status == 200
	})
	soon(t, "a tag is taken without the first machine", patient, func() bool {
		return c[2].ask(t, "POST /tags/write", `{"request_id":"$2","flow":"f"}`).status == 201
	})
	sees(c[2])

	m.kill(1)
	c[2].says(t, 503, "no quorum: 1 of 3 nodes of the cluster are connected")
	c[2].tells(t, 1, 0)
	c[2].ask(t, "GET /health/ready", "").expect(t, 200, "", "") // since it resolves what it knows
	c[2].ask(t, "POST /resolve/skill", `{"skill_id":"$.a"}`).expect(t, 200, "", `{"skill_id":"$.a"}`)
	for _, request := range []string{"POST /tags/write", "GET /tags/$", "POST /register/skill"} {
		at := time.Now()
		body := `{"request_id":"$3","flow":"f"}`
		if strings.Contains(request, "register") {
			body = `{"record":{"skill_id":"$.c"}}`
		}
		c[2].ask(t, request, body).expect(t, 503, "CE-011", "")
		if took := time.Since(at); took > 5*time.Second {
			t.Errorf("%s: answered after %v, want 3 seconds", request, took)
		}
	}

	m.run(0, 1)
	for _, one := range c {
		one.says(t, 200, allWell)
		sees(one)
		one.ask(t, "POST /resolve/skill", `{"skill_id":"$.b"}`).expect(t, 200, "", `{"skill_id":"$.b"}`)
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

// What a machine kept while it was alone is the cluster's, whoever starts first.
func TestClusterOfOneThatWasAlone(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	c := m.clients()
	m.list[1] = m.up(1)
	c[1].says(t, 200, allWell)
	c[1].put(t, [2]string{"skill", `{"skill_id":"$.a","purpose":"$"}`})
	c[1].do(t, "POST /tags/write", `{"request_id":"$","flow":"f"}`)
	m.list[1].Terminate()
	if err := m.list[1].Wait(); err != nil {
		t.Fatal(err)
	}
	m.run(0, 2)
	c[0].says(t, 200, "3 replicas are configured") // has no streams, and waits for the third
	c[0].ask(t, "POST /tags/write", `{"request_id":"$2","flow":"f"}`).expect(t, 503, "CE-011", "")
	m.run(1)
	for _, one := range c {
		one.says(t, 200, allWell)
	}
	m.kill(1)
	for _, i := range []int{0, 2} {
		soon(t, "the tag is there without the machine that had it", patient, func() bool { return c[i].ask(t, "GET /tags/$", "").status == 200 })
		// All was well by the workers of the machine that is gone; this one's own may still be starting.
		soon(t, "the skill is found without it", patient, func() bool {
			a := c[i].ask(t, "POST /resolve/skill", `{"query":"$","top_k":1}`)
			return a.status == 200 && strings.Contains(a.body, c[i].named("$.a"))
		})
	}
	alone := m.up(1)
	if err := alone.Wait(); err == nil || !strings.Contains(err.Error(), "cluster") {
		t.Errorf("a node that is started alone: %v, want it refused", err)
	}
}
