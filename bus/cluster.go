package bus

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"cairn/bus/telemetry"
)

// Cluster is what a server has to know to be a node of a cluster.
type Cluster struct {
	Name      string   // of the cluster, the same on all nodes
	Node      string   // of this node, different on all and never another; empty: one is made and kept
	Listen    string   // where the other nodes connect, host:port
	Routes    []string // nats://host:port of the other nodes; one's own is left out
	Advertise string   // host:port that nodes tell each other of this one; empty: Listen
	Secret    string   // that the nodes ask of each other; empty: none
	Tags      []string // by which streams can be placed on this node
}

// StartNode is StartServer for a node of a cluster. It returns when the node
// runs, alone or not: Trouble says whether the cluster can work, and Found
// brings what dir has of the time when its server was alone.
func StartNode(dir, listen string, c Cluster, more ...ServerOption) (*Server, error) {
	if dir == "" {
		return nil, errors.New("a node of a cluster needs a folder for its data: without it, it is another node at each start")
	}
	if listen == "" { // nats-server connects no routes before it listens to clients
		return nil, errors.New("a node of a cluster needs an address for NATS")
	}
	if err := writable(dir); err != nil {
		return nil, err
	}
	o, err := serverOptions(dir, listen)
	if err != nil {
		return nil, err
	}
	if err := c.options(o); err != nil {
		return nil, err
	}
	if o.ServerName, err = nodeName(dir, c.Node); err != nil {
		return nil, err
	}
	if err := putAside(dir); err != nil {
		return nil, err
	}
	s := &Server{dir: dir, node: o.ServerName, nodes: 1 + len(o.Routes)}
	if err := s.with(o, more); err != nil {
		return nil, err
	}
	if err := s.start(o); err != nil {
		return s, err
	}
	telemetry.Cluster(s.standing)
	return s, nil
}

// options sets what o needs for the cluster.
func (c Cluster) options(o *server.Options) (err error) {
	o.Cluster = server.ClusterOpts{
		Name:        c.Name,
		Advertise:   c.Advertise,
		NoAdvertise: true, // clients stay with the URLs they were given
		PoolSize:    -1,   // one route to each node: writes to the log come in order, and few are large
		// A third of all requests is sent to one of three nodes as long as its route is there.
		PingInterval: routePing,
		MaxPingsOut:  routePings,
	}
	if c.Secret != "" {
		o.Cluster.Username, o.Cluster.Password = routeUser, c.Secret
	}
	if o.Cluster.Host, o.Cluster.Port, err = address("cluster address", c.Listen); err != nil {
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

// A node from which nothing came back for 2 to 3 s is cut off until it answers
// again. An election takes no longer to find it gone (election.go).
const (
	routePing  = time.Second
	routePings = 2
)

// routeUser is who connects when there is a secret.
const routeUser = "cluster"

// route is the URL of another node. An error does not repeat what may be a password.
func (c Cluster) route(text string) (*url.URL, error) {
	if !strings.Contains(text, "://") {
		text = "nats://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Port() == "" || u.Scheme != "nats" && u.Scheme != "nats-route" {
		return nil, errors.New("a route: want nats://host:6222")
	}
	if c.Secret != "" {
		u.User = url.UserPassword(routeUser, c.Secret)
	}
	return u, nil
}

// nodeName is the name of the node in dir, which it keeps: a node with another
// name is another node, and the copies of the first are missed for ever.
func nodeName(dir, given string) (string, error) {
	path := filepath.Join(dir, "node")
	kept, err := os.ReadFile(path)
	switch name := strings.TrimSpace(string(kept)); {
	case err == nil && (given == "" || given == name):
		return name, nil
	case err == nil:
		return "", fmt.Errorf("the node in %s is %s, and cannot be called %s", dir, name, given)
	case !os.IsNotExist(err):
		return "", fmt.Errorf("name of the node: %w", err)
	}
	if given == "" {
		given = madeName()
	}
	if strings.ContainsAny(given, " \t\r\n.*>") {
		return "", fmt.Errorf("name of the node %q: want no spaces, dots, * or >", given)
	}
	return given, wrap("name of the node", writeDurably(path, []byte(given+"\n")))
}

// Node is the server's name in its cluster; empty when it is alone.
func (s *Server) Node() string { return s.node }

// Trouble says what the cluster lacks, for people; empty: nothing, or there is
// no cluster. Without a quorum it answers nothing that is kept.
func (s *Server) Trouble() (says string, quorum bool) {
	if s.node == "" {
		return "", true
	}
	here, size, leader := s.seen()
	nodes := strconv.Itoa(here) + " of " + strconv.Itoa(size) + " nodes of the cluster are connected"
	switch {
	case size == 0:
		return "the cluster is not formed yet", false
	case here < size/2+1:
		return "no quorum: " + nodes, false
	case leader == "":
		return "the cluster elects a leader: " + nodes, false
	case s.waits.String() != "":
		return s.waits.String(), true
	case here < size:
		return nodes, true
	default:
		return "", true
	}
}

// seen is how many nodes are connected, of how many, and who leads them; size 0:
// the server knows no cluster yet, or has given up what it keeps.
func (s *Server) seen() (here, size int, leader string) {
	info, err := s.ns.Jsz(nil)
	if err != nil || info.Meta == nil {
		return 1, 0, ""
	}
	return 1 + len(s.peers()), max(info.Meta.Size, s.nodes), info.Meta.Leader
}

// standing is what metrics tell of the cluster.
func (s *Server) standing() telemetry.Standing {
	here, size, _ := s.seen()
	_, quorum := s.Trouble()
	return telemetry.Standing{Nodes: here, Wanted: max(size, s.nodes), Quorum: quorum, Behind: s.behind()}
}

// behind is how much of what this node is to keep is not current: streams, and
// how far consumers are.
func (s *Server) behind() (n int) {
	for _, e := range s.ns.Healthz(&server.HealthzOptions{Details: true}).Errors {
		if e.Type == server.HealthzErrorStream || e.Type == server.HealthzErrorConsumer {
			n++
		}
	}
	return n
}

// peers are the names of the nodes that are connected.
func (s *Server) peers() (names []string) {
	routes, err := s.ns.Routez(nil)
	if err != nil {
		return nil
	}
	for _, r := range routes.Routes {
		if !slices.Contains(names, r.RemoteName) {
			names = append(names, r.RemoteName)
		}
	}
	return names
}
