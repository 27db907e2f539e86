package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"cairn/schemas"
)

// node is a NATS server with the settings of nats.conf.
type node struct {
	*server.Server
	said *violations
}

// startNode starts a server with nats.conf and the environment that the compose
// file has for the node, on ports of its own and without a cluster, unless
// adapt has it otherwise.
func startNode(t *testing.T, name string, adapt func(*server.Options)) node {
	t.Helper()
	for k, v := range compose(t).Services[name].Environment {
		t.Setenv(k, v)
	}
	o, err := server.ProcessConfigFile("../nats.conf")
	if err != nil {
		t.Fatal(err)
	}
	if o.ServerName != name || o.MaxPayload != 8<<20 || !o.SyncAlways || len(o.Routes) != 3 {
		t.Errorf("nats.conf makes %q, %d bytes of payload, sync %v, %d routes", o.ServerName, o.MaxPayload, o.SyncAlways, len(o.Routes))
	}
	o.Host, o.Port, o.HTTPHost, o.HTTPPort, o.StoreDir, o.NoSigs = "127.0.0.1", server.RANDOM_PORT, "", 0, t.TempDir(), true
	adapt(o)
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	n := node{s, &violations{}}
	s.SetLogger(n.said, false, false)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatalf("%s does not come up", name)
	}
	return n
}

func single(o *server.Options) { o.Cluster, o.Routes = server.ClusterOpts{}, nil }

// violations are what a server says of clients that overstep.
type violations struct {
	mu   sync.Mutex
	list []string
}

func (v *violations) Errorf(format string, args ...any) {
	if line := fmt.Sprintf(format, args...); strings.Contains(line, "iolation") {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.list = append(v.list, line)
	}
}
func (v *violations) Noticef(string, ...any) {}
func (v *violations) Warnf(string, ...any)   {}
func (v *violations) Fatalf(string, ...any)  {}
func (v *violations) Debugf(string, ...any)  {}
func (v *violations) Tracef(string, ...any)  {}

func (v *violations) all() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.list
}

// container starts the service of the compose file as a process on the node,
// with the backends given in place of its own, and returns when it says so.
func (n node) container(t *testing.T, name, says string, backends map[string]string) *running {
	t.Helper()
	s := compose(t).Services[name]
	environment := maps.Clone(s.Environment)
	maps.Copy(environment, backends)
	environment["CAIRN_NATS"] = regexp.MustCompile(`nats-\d:4222`).ReplaceAllString(s.Environment["CAIRN_NATS"], n.Addr().String())
	environment["CAIRN_REPLICAS"] = "1"
	p := &running{Cmd: program(context.Background(), s.Command...), out: newBuffer(), done: make(chan error, 1)}
	for k, v := range environment {
		p.Env = append(p.Env, k+"="+v)
	}
	p.Stdout, p.Stderr = p.out, p.out
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.done <- p.Wait() }()
	t.Cleanup(func() {
		_ = p.Process.Kill() // it has ended, or is of no use any more
		<-p.done
	})
	p.says(t, says)
	return p
}

// TestContainersOnTheirNode runs what the compose file runs, as the users of
// nats.conf: they may do all that they have to do.
func TestContainersOnTheirNode(t *testing.T) {
	containers(t, map[string]string{"CAIRN_INDEX": "embedded:", "CAIRN_EMBED": vectors(t)})
}

// TestRealContainersOnTheirNode is the same with the index in Elasticsearch.
func TestRealContainersOnTheirNode(t *testing.T) {
	url := os.Getenv("CAIRN_TEST_ELASTICSEARCH")
	if url == "" {
		t.Skip("CAIRN_TEST_ELASTICSEARCH does not name a server")
	}
	containers(t, map[string]string{"CAIRN_INDEX": url, "CAIRN_EMBED": vectors(t)})
}

func containers(t *testing.T, backends map[string]string) {
	n := startNode(t, "nats-1", single)
	backends["CAIRN_MODEL"], backends["CAIRN_HTTP"] = "offline:", "127.0.0.1:0"
	all := []*running{
		n.container(t, "register", "tags, register on", backends),
		n.container(t, "resolve", "resolve on", backends),
		n.container(t, "resolve", "resolve on", backends),
		n.container(t, "analyze", "analyze on", backends),
		n.container(t, "edge", "edge on", backends),
	}
	url := addressed.FindString(all[4].out.String())
	if got := do(t, "", "register", "--url", url, "../examples/knowledge"); got.code != 0 || strings.Contains(got.out, "searchable once") {
		t.Fatal(got)
	}
	for _, args := range [][]string{
		{"resolve", "machines without security patches"},
		{"resolve", "storage.volume_capacity", "--tenant", "acme"},
		{"ask", "--estate", "../examples/estate.json", "how many hosts?"},
		{"status"},
	} {
		if got := do(t, "", append(args, "--url", url)...); got.code != 0 || strings.Contains(got.out, "degraded") {
			t.Errorf("%v: %+v", args, got)
		}
	}
	tagged(t, url)
	large(t, url)
	for _, v := range n.said.all() {
		t.Errorf("the server refuses: %s", v)
	}
	for _, p := range all {
		if strings.Contains(p.out.String(), password) {
			t.Errorf("a process tells its password:\n%s", p.out)
		}
	}
}

// vectors is the URL of an Ollama server that embeds texts by their letters.
func vectors(t *testing.T) string {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/show", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"capabilities":["embedding"],"model_info":{}}`)
	})
	mux.HandleFunc("POST /api/embed", func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Input []string }
		_ = json.NewDecoder(r.Body).Decode(&asked) // what is no request gets no vectors
		made := make([][26]float32, len(asked.Input))
		for i, text := range asked.Input {
			for _, letter := range strings.ToLower(text) {
				if 'a' <= letter && letter <= 'z' {
					made[i][letter-'a']++
				}
			}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"embeddings": made}) // to one who left, in vain
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return "ollama://" + strings.TrimPrefix(server.URL, "http://") + "/letters"
}

// tagged writes, reads and deletes a tag.
func tagged(t *testing.T, url string) {
	t.Helper()
	for _, row := range []struct {
		method, path, body string
		want               int
	}{
		{"POST", "/tags/write", `{"request_id":"r","flow":"f","tags":{}}`, 201},
		{"POST", "/tags/write", `{"request_id":"r","flow":"f","tags":{}}`, 409},
		{"GET", "/tags/r", "", 200},
		{"DELETE", "/tags/r", "", 204},
		{"GET", "/tags/r", "", 404},
		{"DELETE", "/register/skill/storage.volume_capacity", "", 204},
	} {
		if got, body := asks(t, row.method, url+row.path, row.body); got != row.want {
			t.Errorf("%s %s: %d %.300s; want %d", row.method, row.path, got, body, row.want)
		}
	}
}

// large asks about an estate that is more than one message of NATS takes.
func large(t *testing.T, url string) {
	t.Helper()
	estate := `{"hosts":[` + strings.Repeat(`{"name":"h","site":"north"},`, 280_000) + `{"name":"last"}]}`
	body := `{"query":"how many hosts?","target":"H","context":` + strconv.Quote(estate) + `}`
	if len(body) < 9<<20 || len(body) > 10<<20 {
		t.Fatalf("a body of %d bytes", len(body))
	}
	if got, said := asks(t, "POST", url+"/api/v1/analyze", body); got != 200 || !strings.Contains(said, "280001") || !strings.Contains(said, "event: "+schemas.EventDone) {
		t.Errorf("%d %.1000s", got, said)
	}
}

func asks(t *testing.T, method, url, body string) (status int, said string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// What the users of nats.conf may not.
func TestUsersOverstep(t *testing.T) {
	n := startNode(t, "nats-1", single)
	n.container(t, "register", "tags, register on", map[string]string{"CAIRN_INDEX": "embedded:", "CAIRN_EMBED": "lexical:"})
	before := n.messages(t)
	publish := func(subject string) func(*nats.Conn) error {
		return func(nc *nats.Conn) error { return nc.PublishRequest(subject, nc.NewInbox(), []byte("{}")) }
	}
	subscribe := func(subject string) func(*nats.Conn) error {
		return func(nc *nats.Conn) error {
			_, err := nc.SubscribeSync(subject)
			return err
		}
	}
	for _, row := range []struct {
		name, user string
		try        func(*nats.Conn) error
	}{
		{"an edge writes the catalog", "edge", publish("$KV.catalog.skill._global.a.b")},
		{"an edge writes a tag", "edge", publish("$KV.tags.cg")},
		{"an edge asks JetStream", "edge", publish("$JS.API.STREAM.INFO.KV_catalog")},
		{"an edge reads the catalog", "edge", publish("$JS.API.STREAM.MSG.GET.KV_catalog")},
		{"an edge speaks as a worker to workers", "edge", publish("cairn.projected")},
		{"an edge listens to requests", "edge", subscribe("cairn.>")},
		{"an edge takes requests", "edge", subscribe("$SRV.PING")},
		{"an edge follows the catalog", "edge", subscribe("$KV.>")},
		{"a worker registers", "worker", publish("cairn.register.skill")},
		{"a worker deletes the catalog", "worker", publish("$JS.API.STREAM.DELETE.KV_catalog")},
		{"a worker purges the catalog", "worker", publish("$JS.API.STREAM.PURGE.KV_catalog")},
		{"a worker makes another stream", "worker", publish("$JS.API.STREAM.CREATE.other")},
		{"a worker writes another bucket", "worker", publish("$KV.other.a")},
		{"a worker overhears requests", "worker", subscribe("cairn.>")},
		{"a worker listens to all", "worker", subscribe(">")},
	} {
		t.Run(row.name, func(t *testing.T) {
			refused := make(chan error, 1)
			nc := n.dial(t, row.user, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
			if err := row.try(nc); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-refused:
				if !strings.Contains(strings.ToLower(err.Error()), "permissions violation") {
					t.Errorf("got %v; want a violation of permissions", err)
				}
			case <-time.After(10 * time.Second):
				t.Error("it may")
			}
		})
	}
	if after := n.messages(t); after != before {
		t.Errorf("%d messages are stored; want the %d from before", after, before)
	}
	for _, who := range []nats.Option{nil, nats.UserInfo("edge", "wrong"), nats.UserInfo("cluster", password)} {
		if nc, err := nats.Connect(n.ClientURL(), who); err == nil {
			nc.Close()
			t.Error("a stranger is let in")
		}
	}
}

func (n node) dial(t *testing.T, user string, more ...nats.Option) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(n.ClientURL(), append(more, nats.UserInfo(user, password))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// messages is how many are stored, in all streams.
func (n node) messages(t *testing.T) uint64 {
	t.Helper()
	z, err := n.Jsz(&server.JSzOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return z.Messages
}
