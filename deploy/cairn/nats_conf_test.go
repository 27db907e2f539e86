package main

import (
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"cairn/bus/bustest"
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
	return startNodeWith(t, "../nats.conf", name, adapt)
}

// startNodeWith is startNode with another file of settings.
func startNodeWith(t *testing.T, conf, name string, adapt func(*server.Options)) node {
	t.Helper()
	for k, v := range compose(t).Services[name].Environment {
		t.Setenv(k, v)
	}
	o, err := server.ProcessConfigFile(conf)
	if err != nil {
		t.Fatal(err)
	}
	if o.ServerName != name || o.MaxPayload != 8<<20 || !o.SyncAlways || len(o.Routes) != 3 {
		t.Errorf("nats.conf makes %q, %d bytes of payload, sync %v, %d routes", o.ServerName, o.MaxPayload, o.SyncAlways, len(o.Routes))
	}
	if o.Cluster.PingInterval != time.Second || o.Cluster.MaxPingsOut != 2 {
		t.Errorf("a route is pinged every %v, and cut after %d", o.Cluster.PingInterval, o.Cluster.MaxPingsOut)
	}
	o.Host, o.Port, o.HTTPHost, o.HTTPPort, o.StoreDir, o.NoSigs = "127.0.0.1", server.RANDOM_PORT, "127.0.0.1", server.RANDOM_PORT, t.TempDir(), true
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
		{"an edge speaks in an analysis", "edge", publish("cairn.analyze.A.event")},
		{"an edge listens to requests", "edge", subscribe("cairn.>")},
		{"an edge takes requests", "edge", subscribe("$SRV.PING")},
		{"an edge follows the catalog", "edge", subscribe("$KV.>")},
		{"an edge makes a key", "edge", publish("$KV.keys.a")},
		{"an edge makes the bucket of keys", "edge", publish("$JS.API.STREAM.CREATE.KV_keys")},
		{"a worker reads the keys", "worker", publish("$JS.API.STREAM.MSG.GET.KV_keys")},
		{"an operator asks", "operator", publish("cairn.resolve.skill")},
		{"an operator writes a tag", "operator", publish("$KV.tags.cg")},
		{"an operator deletes the catalog", "operator", publish("$JS.API.STREAM.DELETE.KV_catalog")},
		{"an operator purges the keys", "operator", publish("$JS.API.STREAM.PURGE.KV_keys")},
		{"a worker registers", "worker", publish("cairn.register.skill")},
		{"a worker deletes the catalog", "worker", publish("$JS.API.STREAM.DELETE.KV_catalog")},
		{"a worker purges the catalog", "worker", publish("$JS.API.STREAM.PURGE.KV_catalog")},
		{"a worker makes another stream", "worker", publish("$JS.API.STREAM.CREATE.other")},
		{"a worker writes another bucket", "worker", publish("$KV.other.a")},
		{"a worker deletes what was said", "worker", publish("$JS.API.STREAM.DELETE.analyze")},
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

// The nodes find each other by the routes of the compose file, keep a record
// three times, and take none for a node who does not know the password.
func TestNodesAreACluster(t *testing.T) {
	at := map[string]netip.AddrPort{}
	for _, name := range []string{"nats-1", "nats-2", "nats-3", "stranger"} {
		at[name] = netip.MustParseAddrPort(bustest.FreeAddress(t))
	}
	join := func(name string) func(*server.Options) {
		return func(o *server.Options) {
			o.Cluster.Host, o.Cluster.Port = at[name].Addr().String(), int(at[name].Port())
			for _, route := range o.Routes {
				route.Host = at[route.Hostname()].String()
			}
		}
	}
	var nodes []node
	for _, name := range []string{"nats-1", "nats-2", "nats-3"} {
		nodes = append(nodes, startNode(t, name, join(name)))
	}
	stranger := startNode(t, "nats-3", func(o *server.Options) {
		join("stranger")(o)
		o.ServerName, o.JetStream = "stranger", false
		for _, route := range o.Routes {
			route.User = nil
		}
	})
	for _, n := range nodes {
		n.healthy(t)
	}
	nodes[0].container(t, "register", "tags, register on", map[string]string{"CAIRN_INDEX": "embedded:", "CAIRN_EMBED": "lexical:", "CAIRN_REPLICAS": "3"})
	z, err := nodes[0].Jsz(&server.JSzOptions{Streams: true, Config: true})
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string]int{}
	for _, account := range z.AccountDetails {
		for _, stream := range account.Streams {
			kept[stream.Name] = stream.Config.Replicas
		}
	}
	if kept["KV_catalog"] != 3 || kept["KV_tags"] != 3 {
		t.Errorf("replicas: %v", kept)
	}
	if n := stranger.NumRoutes(); n != 0 {
		t.Errorf("a stranger has %d routes", n)
	}
}

// healthy returns when the check of the compose file passes.
func (n node) healthy(t *testing.T) {
	t.Helper()
	check := compose(t).Services[n.Name()].Healthcheck.Test
	url := strings.Replace(check[len(check)-1], "127.0.0.1:8222", n.MonitorAddr().String(), 1)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for until := time.Now().Add(30 * time.Second); ; <-tick.C {
		status, said := asks(t, "GET", url, "")
		if status == 200 {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("%s: %s", url, said)
		}
	}
}
