package natsserver

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nuid"
)

// Cluster is the configuration of a cluster node.
type Cluster struct {
	Name      string   // name of the cluster, the same on all nodes
	Node      string   // name of this node, unique and permanent; empty: generated and stored
	Listen    string   // address for routes, host:port
	Routes    []string // nats://host:port of the other nodes; the node's own is ignored
	Advertise string   // host:port that other nodes announce for this one; empty: Listen
	Secret    string   // shared password of the routes; empty: none
	Tags      []string // for stream placement
}

func (c Cluster) options(o *server.Options) (err error) {
	o.Cluster = server.ClusterOpts{
		Name:        c.Name,
		Advertise:   c.Advertise,
		NoAdvertise: true, // clients use the URLs that they are configured with
		PoolSize:    -1,   // one route per node keeps writes to the log in order; few writes are large
		// Until a route is closed, its node receives its share of all requests.
		PingInterval: routePing,
		MaxPingsOut:  routePings,
	}
	if c.Secret != "" {
		o.Cluster.Username, o.Cluster.Password = routeUser, c.Secret
	}
	if o.Cluster.Host, o.Cluster.Port, err = address("cluster address (--cluster-listen)", c.Listen); err != nil {
		return err
	}
	o.Tags = c.Tags
	for _, route := range c.Routes {
		u, err := c.route(route)
		if err != nil {
			return err
		}
		if u.Host != c.Listen {
			o.Routes = append(o.Routes, u)
		}
	}
	if len(o.Routes) == 0 {
		return errors.New("a cluster needs the routes to the other nodes")
	}
	return nil
}

// A node that does not answer pings is disconnected after 2 to 3 s, which is less than
// a leader election takes.
const (
	routePing  = time.Second
	routePings = 2
)

const routeUser = "cluster" // user name of routes when there is a secret

// route parses the URL of another node. Its errors do not contain text, which may be a password.
func (c Cluster) route(text string) (*url.URL, error) {
	if !strings.Contains(text, "://") {
		text = "nats://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Port() == "" || u.Scheme != "nats" && u.Scheme != "nats-route" {
		return nil, errors.New("invalid route: expected nats://host:6222")
	}
	if c.Secret != "" {
		u.User = url.UserPassword(routeUser, c.Secret)
	}
	return u, nil
}

// nodeName returns the name of the node in dir and stores it there. Under another name the node
// would join as an additional one, and the old name would remain in the cluster as an offline peer.
func nodeName(dir, given string) (string, error) {
	path := filepath.Join(dir, "node")
	stored, err := os.ReadFile(path)
	switch name := strings.TrimSpace(string(stored)); {
	case err == nil && (given == "" || given == name):
		return name, nil
	case err == nil:
		return "", fmt.Errorf("the node in %s is named %s and cannot be renamed to %s", dir, name, given)
	case !os.IsNotExist(err):
		return "", fmt.Errorf("node name: %w", err)
	}
	if given == "" {
		host, _ := os.Hostname() // fails if the system does not know it
		host, _, _ = strings.Cut(host, ".")
		given = cmp.Or(host, "node") + "-" + strings.ToLower(nuid.Next()[16:])
	}
	if strings.ContainsAny(given, " \t\r\n.*>") {
		return "", fmt.Errorf("node name %q: expected no spaces, dots, * or >", given)
	}
	if err := writeDurably(path, []byte(given+"\n")); err != nil {
		return "", fmt.Errorf("node name: %w", err)
	}
	return given, nil
}

// writeDurably writes a small file atomically and syncs it, so that after a power
// failure it is complete or absent.
func writeDurably(path string, data []byte) error {
	unfinished := path + ".new"
	f, err := os.OpenFile(unfinished, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(unfinished, path); err != nil {
		return err
	}
	directory, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}

// clustered reports whether dir belongs to a cluster node: it contains the meta log.
func clustered(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "jetstream", "$SYS", "_js_", "_meta_"))
	return err == nil
}

// standalone reports whether dir has streams of a stand-alone server.
func standalone(dir string) bool {
	streams, _ := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "*")) // fails for a malformed pattern
	return len(streams) > 0 && !clustered(dir)
}
