package natsserver

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"cairn/bus"
)

// maxPayload is the max_payload of the embedded server. NATS advises against more than
// 8 MB; a record of 1 MiB and a page of them fit.
const maxPayload = 8 << 20

// maxPending is the max_pending of the embedded server. In-process connections carry the
// replies of all workers, of up to maxPayload each; package bus bounds the bytes of requests.
const maxPending = 256 << 20

// Server is a NATS server with JetStream in this process.
type Server struct {
	ns      *server.Server
	scratch string // temporary directory, removed by Stop; empty: none
	dir     string // StoreDir
	node    string // name in the cluster; empty: stand-alone
	nodes   int    // configured size of the cluster
	secret  string // token of clients
}

// Start starts a stand-alone server that stores its streams in dir, or in a
// temporary directory if dir is empty. It listens on listen (host:port), or serves
// in-process connections only if listen is empty. The caller stops it.
func Start(dir, listen string, more ...Option) (*Server, error) {
	s := &Server{dir: dir}
	if dir == "" {
		scratch, err := os.MkdirTemp("", "cairn-nats-")
		if err != nil {
			return nil, fmt.Errorf("create a directory for JetStream: %w", err)
		}
		s.dir, s.scratch = scratch, scratch
	}
	if err := writable(s.dir); err != nil {
		return nil, err
	}
	if clustered(s.dir) {
		return nil, fmt.Errorf("%s belongs to a cluster node: start it as a cluster node", s.dir)
	}
	options, err := serverOptions(s.dir, listen)
	if err != nil {
		return nil, err
	}
	if err := s.with(options, more); err != nil {
		return nil, err
	}
	return s, s.start(options)
}

// start runs the server, and stops it if it does not become ready.
func (s *Server) start(o *server.Options) error {
	var err error
	if s.ns, err = server.NewServer(o); err != nil {
		return fmt.Errorf("embedded NATS: %w", err)
	}
	s.ns.Start()
	if !s.ns.ReadyForConnections(10*time.Second) || !s.ns.JetStreamEnabled() {
		s.Stop()
		return fmt.Errorf("embedded NATS did not start in %s", s.dir)
	}
	return nil
}

func serverOptions(dir, listen string) (*server.Options, error) {
	o := &server.Options{
		ServerName: "cairn",
		JetStream:  true,
		StoreDir:   dir,
		SyncAlways: true, // an acknowledged record is on disk; the tags opt out
		MaxPayload: maxPayload,
		NoSigs:     true,
		NoLog:      true,
		DontListen: listen == "",
		MaxPending: maxPending,
	}
	if listen == "" {
		return o, nil
	}
	var err error
	o.Host, o.Port, err = address("NATS address", listen)
	return o, err
}

// address parses listen, named what in errors, and checks that it is not in use.
func address(what, listen string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(listen)
	if err != nil {
		return "", 0, fmt.Errorf("%s %q: expected host:port: %w", what, listen, err)
	}
	if port, err = strconv.Atoi(text); err != nil {
		return "", 0, fmt.Errorf("%s %q: expected a number for the port", what, listen)
	}
	if port == 0 {
		return host, server.RANDOM_PORT, nil
	}
	return host, port, free(listen)
}

// free returns an error of one line if the address is in use.
func free(listen string) error {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("NATS listen: %w", err)
	}
	return l.Close()
}

// writable creates dir if it is absent, and checks that files can be created there.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	probe := filepath.Join(dir, ".writable")
	err := os.WriteFile(probe, nil, 0o600)
	return errors.Join(wrap("data directory", err), wrap("data directory", removeIf(err == nil, probe)))
}

func removeIf(there bool, path string) error {
	if !there {
		return nil
	}
	return os.Remove(path)
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// URL returns the URL for clients of other processes, or "" if the server does not
// listen.
func (s *Server) URL() string {
	if s.ns.Addr() == nil {
		return ""
	}
	return s.ns.ClientURL()
}

// StorageLimit returns the storage limit of the server's streams in bytes: 75 % of the space
// that was free on the disk, or used by them, at the start.
func (s *Server) StorageLimit() int64 { return s.ns.JetStreamConfig().MaxStore }

// Open returns an in-process connection to the server. The caller closes it.
func (s *Server) Open(name string) (*bus.Conn, error) {
	return bus.OpenInProcess(s.ns, name, nats.Token(s.secret))
}

// Stop shuts the server down; its streams are on disk when Stop returns.
func (s *Server) Stop() {
	s.ns.Shutdown()
	s.ns.WaitForShutdown()
	if s.scratch != "" {
		_ = os.RemoveAll(s.scratch) // the system clears temporary directories too
	}
}
