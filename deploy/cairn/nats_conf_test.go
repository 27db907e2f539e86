package main

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"cairn/bus/bustest"
	"cairn/test/cairntest"
	"cairn/test/wait"
)

const manifests = "../kubernetes/"

// natsConf is the NATS server configuration of compose and Kubernetes.
const natsConf = manifests + "nats/nats.conf"

// node is a NATS server with the configuration nats.conf.
type node struct{ *bustest.Node }

// startNode starts a server with nats.conf and the environment of the compose file, on
// free ports. adapt changes its options, such as the cluster.
func startNode(t *testing.T, name string, adapt func(*server.Options)) node {
	t.Helper()
	return startNodeWith(t, natsConf, name, adapt)
}

// startNodeWith is startNode with another configuration file.
func startNodeWith(t *testing.T, conf, name string, adapt func(*server.Options)) node {
	t.Helper()
	for k, v := range compose(t).Services[name].Environment {
		t.Setenv(k, v)
	}
	o, err := server.ProcessConfigFile(conf)
	if err != nil {
		t.Fatal(err)
	}
	if o.ServerName != name || o.MaxPayload != 8<<20 || o.SyncInterval != time.Second || len(o.Routes) != 3 {
		t.Errorf("nats.conf configures %q, %d bytes of payload, sync_interval %v, %d routes", o.ServerName, o.MaxPayload,
			o.SyncInterval, len(o.Routes))
	}
	if o.Cluster.PingInterval != time.Second || o.Cluster.MaxPingsOut != 2 {
		t.Errorf("a route is pinged every %v, and closed after %d missed pings", o.Cluster.PingInterval,
			o.Cluster.MaxPingsOut)
	}
	if o.JetStreamMaxStore != 4096<<20 || o.JetStreamMaxMemory != 256<<20 {
		t.Errorf("nats.conf configures %d bytes for streams on disk and %d in memory", o.JetStreamMaxStore,
			o.JetStreamMaxMemory)
	}
	adapt(o)
	return node{bustest.StartNode(t, o)}
}

func single(o *server.Options) { o.Cluster, o.Routes = server.ClusterOpts{}, nil }

// secret returns the URL that the Secret cairn-nats contains under a key such as edge-url.
func (n node) secret(key string) string {
	user, _ := strings.CutSuffix(key, "-url")
	return (&url.URL{Scheme: "nats", User: url.UserPassword(user, password), Host: n.Addr().String()}).String()
}

func (n node) dial(t *testing.T, user string, options ...nats.Option) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(n.ClientURL(),
		append(options, nats.UserInfo(user, password), nats.CustomInboxPrefix("_INBOX_"+user))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// routes returns a function that connects the routes of a node with those of the others.
func routes(t *testing.T) func(name string, o *server.Options) {
	t.Helper()
	addresses := map[string]netip.AddrPort{}
	for _, name := range []string{"nats-1", "nats-2", "nats-3", "stranger"} {
		addresses[name] = netip.MustParseAddrPort(bustest.FreeAddress(t))
	}
	return func(name string, o *server.Options) {
		o.Cluster.Host, o.Cluster.Port = addresses[name].Addr().String(), int(addresses[name].Port())
		for _, route := range o.Routes {
			route.Host = addresses[route.Hostname()].String()
		}
	}
}

// TestStreamsFitOnTheirNode creates the streams with the storage limit of the compose file.
func TestStreamsFitOnTheirNode(t *testing.T) {
	n := startNode(t, "nats-1", single)
	n.setup(t, "1")
	n.CheckReservations(t)
}

// TestNodesAreACluster checks that the nodes form a cluster with the routes of the
// compose file, store three replicas, and reject a node with a wrong password.
func TestNodesAreACluster(t *testing.T) {
	join := routes(t)
	var nodes []node
	for _, name := range []string{"nats-1", "nats-2", "nats-3"} {
		nodes = append(nodes, startNode(t, name, func(o *server.Options) { join(name, o) }))
	}
	stranger := startNode(t, "nats-3", func(o *server.Options) {
		join("stranger", o)
		o.ServerName, o.JetStream = "stranger", false
		for _, route := range o.Routes {
			route.User = nil
		}
	})
	for _, n := range nodes {
		n.healthy(t)
	}
	nodes[0].setup(t, "3")
	nodes[0].container(t, "register", "tags, register on",
		map[string]string{"CAIRN_INDEX": "embedded:", "CAIRN_EMBED": "lexical:"})
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
	if kept["KV_cairn_catalog"] != 3 || kept["KV_cairn_tags"] != 3 || kept["KV_cairn_keys"] != 3 ||
		kept["cairn_analyze"] != 3 {
		t.Errorf("replicas: %v", kept)
	}
	got := do(t, "", "cluster", "status", "--nats", nodes[0].secret("system-url"))
	if got.code != 0 || !strings.Contains(got.out, "nats-3") || !strings.Contains(got.out, "KV_cairn_catalog") {
		t.Errorf("the system user reads the state of the cluster: %+v", got)
	}
	wait.Until(t, "a server without the password has no route", func() bool { return stranger.NumRoutes() == 0 })
}

// healthy returns when the health check of the compose file succeeds.
func (n node) healthy(t *testing.T) {
	t.Helper()
	check := compose(t).Services[n.Name()].Healthcheck.Test
	url := strings.Replace(check[len(check)-1], "127.0.0.1:8222", n.MonitorAddr().String(), 1)
	wait.Success(t, func() error {
		if status, body := cairntest.Request(t, "GET", url, ""); status != 200 {
			return fmt.Errorf("%s: %s", url, body)
		}
		return nil
	})
}
