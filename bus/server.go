package bus

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// maxPayload is the largest message of the embedded server: NATS advises
// against more than 8 MB; a record of 1 MiB and a page of them fit.
const maxPayload = 8 << 20

// Server is a NATS server with JetStream in this process.
type Server struct {
	ns      *server.Server
	scratch string // removed with the server; empty when the caller named the folder
	dir     string // where the streams are
	node    string // its name in the cluster; empty: it is alone
	nodes   int    // how many there are to be
	secret  string // that its clients give
	waits   said   // what Found waits for
}

// said is a sentence that may change.
type said struct{ atomic.Value }

func (s *said) String() string {
	text, _ := s.Load().(string)
	return text
}

// StartServer starts a server that keeps its streams in dir, or in a folder
// that ends with it when dir is empty. It listens on listen (host:port), or
// only inside the process when that is empty. The caller stops it.
func StartServer(dir, listen string, more ...ServerOption) (*Server, error) {
	s := &Server{dir: dir}
	if dir == "" {
		scratch, err := os.MkdirTemp("", "cairn-nats-")
		if err != nil {
			return nil, fmt.Errorf("make a folder for JetStream: %w", err)
		}
		s.dir, s.scratch = scratch, scratch
	}
	if err := writable(s.dir); err != nil {
		return nil, err
	}
	if clustered(s.dir) {
		return nil, fmt.Errorf("%s is of a node of a cluster: start it as one", s.dir)
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

// start runs the server. One that cannot be started is stopped.
func (s *Server) start(o *server.Options) error {
	err := elections
	if err != nil {
		return err
	}
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
	}
	if listen == "" {
		return o, nil
	}
	var err error
	o.Host, o.Port, err = address("NATS address", listen)
	return o, err
}

// address is what listen, which is what, says; it has to be free.
func address(what, listen string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(listen)
	if err != nil {
		return "", 0, fmt.Errorf("%s %q: want host:port: %w", what, listen, err)
	}
	if port, err = strconv.Atoi(text); err != nil {
		return "", 0, fmt.Errorf("%s %q: want a number for the port", what, listen)
	}
	if port == 0 {
		return host, server.RANDOM_PORT, nil
	}
	return host, port, free(listen)
}

// free says early, and in one line, that an address is taken.
func free(listen string) error {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("NATS cannot listen: %w", err)
	}
	return l.Close()
}

// writable makes sure that dir exists and takes files.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	probe := filepath.Join(dir, ".writable")
	err := os.WriteFile(probe, nil, 0o600)
	return errors.Join(wrap("data folder", err), wrap("data folder", removeIf(err == nil, probe)))
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

// URL is where clients outside of the process connect; empty when it does not listen.
func (s *Server) URL() string {
	if s.ns.Addr() == nil {
		return ""
	}
	return s.ns.ClientURL()
}

// StorageLimit is how many bytes the server's streams may take: 75 % of the disk
// that was free, or theirs, at the start.
func (s *Server) StorageLimit() int64 { return s.ns.JetStreamConfig().MaxStore }

// Open connects to the server from inside the process.
func (s *Server) Open(name string) (*Conn, error) {
	return connect("", name, nats.InProcessServer(s.ns), nats.Token(s.secret))
}

// Stop ends the server; its streams are on disk when Stop returns.
func (s *Server) Stop() {
	s.ns.Shutdown()
	s.ns.WaitForShutdown()
	if s.scratch != "" {
		_ = os.RemoveAll(s.scratch) // a temporary folder; the system clears it too
	}
}
