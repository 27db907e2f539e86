package natsserver

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"cairn/bus"
	"cairn/bus/telemetry"
)

// maxPayload is the max_payload of the embedded server. It suffices for a record of 1 MiB and for a
// page of records. NATS advises against more than 8 MB.
const maxPayload = 8 << 20

// maxPending is the max_pending of the embedded server. In-process connections carry the
// replies of all workers, of up to maxPayload each; package bus bounds the bytes of requests.
const maxPending = 256 << 20

// SyncInterval is the interval at which the server syncs its streams to disk, without [WithSyncAlways].
const SyncInterval = time.Second

// Server is a NATS server with JetStream in this process.
type Server struct {
	ns        *server.Server
	scratch   string // temporary directory, removed by Stop; empty: none
	dir       string // StoreDir
	node      string // name in the cluster; empty: stand-alone
	nodes     int    // configured size of the cluster
	limit     int64  // of the streams in bytes, see StorageLimit
	secret    string // token of clients
	log       *slog.Logger
	monitor   *monitor // nil: not started
	recovered func()
}

// Start starts a stand-alone server that stores its streams in dir, or in a
// temporary directory if dir is empty. It listens on listen (host:port), or serves
// in-process connections only if listen is empty. The caller stops it.
func Start(dir, listen string, options ...Option) (*Server, error) {
	s := &Server{dir: dir, log: slog.New(slog.DiscardHandler), recovered: func() {}}
	if dir == "" {
		scratch, err := os.MkdirTemp("", "cairn-nats-")
		if err != nil {
			return nil, fmt.Errorf("create a directory for JetStream: %w", err)
		}
		s.dir, s.scratch = scratch, scratch
	}
	if clustered(s.dir) {
		return nil, fmt.Errorf("%s belongs to a cluster node: start it as a cluster node", s.dir)
	}
	if err := s.start(listen, options); err != nil {
		_ = os.RemoveAll(s.scratch) // the system clears temporary directories too
		return nil, err
	}
	return s, nil
}

// StartNode is Start for a node of a cluster. It returns when the server runs,
// whether or not other nodes are connected: Problem reports the state of the cluster.
func StartNode(dir, listen string, c Cluster, options ...Option) (*Server, error) {
	if dir == "" {
		return nil, errors.New("a cluster node needs a data directory: without it, each start creates another node")
	}
	if listen == "" { // nats-server connects no routes before it listens to clients
		return nil, errors.New("a cluster node needs an address for NATS clients")
	}
	if standalone(dir) { // a node deletes streams that its cluster does not know (nats-server, checkForOrphans)
		return nil, fmt.Errorf("%s has data of a stand-alone server: start the node with an empty directory, and restore a backup of the data to the cluster", dir)
	}
	s := &Server{dir: dir, log: slog.New(slog.DiscardHandler), recovered: func() {}}
	node := func(_ *Server, o *server.Options) (err error) {
		if err := c.options(o); err != nil {
			return err
		}
		o.ServerName, err = nodeName(dir, c.Node)
		s.node, s.nodes = o.ServerName, 1+len(o.Routes)
		return err
	}
	if err := s.start(listen, append([]Option{node}, options...)); err != nil {
		return nil, err
	}
	telemetry.Cluster(s.clusterState)
	return s, nil
}

// start runs the server with the options, and stops it if it does not become ready.
func (s *Server) start(listen string, list []Option) error {
	if err := writable(s.dir, 0); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	free, total := diskSpace(s.dir)
	o := &server.Options{
		ServerName: "cairn",
		JetStream:  true,
		StoreDir:   s.dir,
		// By default it would be 75 % of the space that is free at each start. Once another program has filled a part
		// of the disk, the streams would reserve more than that, and the server would refuse each change of them.
		JetStreamMaxStore: total,
		// The server writes each message to the operating system before it acknowledges it, in the streams of a
		// single replica and in the Raft logs of others, so that it survives a crash of the process.
		SyncInterval: SyncInterval,
		MaxPayload:   maxPayload,
		NoSigs:       true,
		NoLog:        true,
		DontListen:   listen == "",
		MaxPending:   maxPending,
	}
	var err error
	if listen != "" {
		if o.Host, o.Port, err = address("NATS address (--nats-listen)", listen); err != nil {
			return err
		}
	}
	for _, option := range list {
		if err := option(s, o); err != nil {
			return fmt.Errorf("embedded NATS: %w", err)
		}
	}
	s.secret = o.Authorization // of in-process clients
	o.CustomClientAuthentication = authentication{s.secret, s}
	if s.ns, err = server.NewServer(o); err != nil {
		return fmt.Errorf("embedded NATS: %w", err)
	}
	s.ns.SetLoggerV2(serverLog{s.log}, false, false, false)
	s.ns.Start()
	if !s.ns.ReadyForConnections(10*time.Second) || !s.ns.JetStreamEnabled() {
		s.Stop()
		return fmt.Errorf("embedded NATS did not start in %s", s.dir)
	}
	stats, err := s.ns.Jsz(nil)
	if err != nil {
		s.Stop()
		return fmt.Errorf("embedded NATS: %w", err)
	}
	s.limit = stats.Config.MaxStore
	if free > 0 {
		s.limit = (free + int64(min(stats.Store, math.MaxInt64))) / 4 * 3 //nolint:gosec // in range
	}
	s.monitor = startMonitor(s)
	return nil
}

// address parses a listen address and checks that it is not in use. Errors begin with purpose, such
// as "NATS address".
func address(purpose, listen string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(listen)
	if err != nil {
		return "", 0, fmt.Errorf("%s %q: expected host:port: %w", purpose, listen, err)
	}
	if port, err = strconv.Atoi(text); err != nil {
		return "", 0, fmt.Errorf("%s %q: expected a number for the port", purpose, listen)
	}
	if port == 0 {
		return host, server.RANDOM_PORT, nil
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return "", 0, fmt.Errorf("%s: %w", purpose, err)
	}
	return host, port, l.Close()
}

// writable creates dir if it is absent, and checks that a file of size bytes can be stored there.
func writable(dir string, size int) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	probe, err := os.CreateTemp(dir, ".writable-")
	if err != nil {
		return err
	}
	_, err = probe.Write(make([]byte, size))
	return errors.Join(err, probe.Sync(), probe.Close(), os.Remove(probe.Name()))
}

// URL returns the URL for clients of other processes, or "" if the server does not listen.
func (s *Server) URL() string {
	if s.ns.Addr() == nil {
		return ""
	}
	return s.ns.ClientURL()
}

// StorageLimit returns the storage limit of the server's streams in bytes: 75 % of the disk space that
// was free or used by the streams at the start.
func (s *Server) StorageLimit() int64 { return s.limit }

// Open returns an in-process connection to the server. The caller closes it.
func (s *Server) Open(name string) (*bus.Conn, error) {
	return bus.OpenInProcess(s.ns, name, nats.Token(s.secret))
}

// Stop shuts the server down; its streams are on disk when Stop returns.
func (s *Server) Stop() {
	if s.monitor != nil {
		s.monitor.stop()
	}
	s.ns.Shutdown()
	s.ns.WaitForShutdown()
	_ = os.RemoveAll(s.scratch) // the system clears temporary directories too
}

// Node returns the server's name in its cluster, or "" if it is stand-alone.
func (s *Server) Node() string { return s.node }

// Problem describes the streams that refuse writes, or the missing parts of the cluster. It returns "" if there
// are none. Without a quorum JetStream answers no requests.
func (s *Server) Problem() (problem string, quorum bool) {
	refused := s.monitor.problem.Load()
	if s.node == "" {
		if refused != nil {
			return *refused, true
		}
		return "", true
	}
	here, size, leader := s.membership()
	if refused != nil {
		return *refused, size == 0 || here > size/2 // size 0: this node does not know
	}
	nodes := strconv.Itoa(here) + " of " + strconv.Itoa(size) + " nodes of the cluster are connected"
	switch {
	case size == 0:
		return "the cluster is not formed yet", false
	case here < size/2+1:
		return "no quorum: " + nodes, false
	case leader == "":
		return "no leader, election in progress: " + nodes, false
	case here < size:
		return nodes, true
	default:
		return "", true
	}
}

// membership returns how many nodes are connected, the size of the cluster and its leader.
// Size 0: no meta group yet, or JetStream is shut down.
func (s *Server) membership() (here, size int, leader string) {
	info, err := s.ns.Jsz(nil)
	if err != nil || info.Meta == nil {
		return 1, 0, ""
	}
	size = info.Meta.Size
	if info.Meta.Leader == "" { // the cluster may not be formed
		size = max(size, s.nodes)
	}
	return 1 + s.ns.NumRemotes(), size, info.Meta.Leader
}

func (s *Server) clusterState() telemetry.ClusterState {
	here, size, _ := s.membership()
	state := telemetry.ClusterState{Nodes: here, Wanted: max(size, s.nodes)}
	if _, quorum := s.Problem(); quorum {
		state.Quorum = 1
	}
	for _, e := range s.ns.Healthz(&server.HealthzOptions{Details: true}).Errors {
		if e.Type == server.HealthzErrorStream || e.Type == server.HealthzErrorConsumer { // a replica is not current
			state.Behind++
		}
	}
	return state
}
