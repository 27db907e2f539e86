package bustest

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"cairn/test/wait"
)

// Node is a server with the options of a configuration file.
type Node struct {
	*server.Server
	violations violations
}

// StartNode starts a server with the options, except that it listens for clients and
// for monitoring on free ports of 127.0.0.1 and has an empty store. It stops with the
// test.
func StartNode(t testing.TB, o *server.Options) *Node {
	t.Helper()
	o.Host, o.Port, o.StoreDir, o.NoSigs = "127.0.0.1", server.RANDOM_PORT, t.TempDir(), true
	o.HTTPHost, o.HTTPPort = "127.0.0.1", server.RANDOM_PORT
	s, err := server.NewServer(o)
	must(t, err)
	n := &Node{Server: s}
	s.SetLogger(&n.violations, false, false)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(wait.Timeout) {
		t.Fatalf("NATS server %s is not ready after %v", s.Name(), wait.Timeout)
	}
	return n
}

// Violations returns the permission violations that the server has logged.
func (n *Node) Violations() []string {
	n.violations.mu.Lock()
	defer n.violations.mu.Unlock()
	return n.violations.list
}

// violations is a logger that collects permission violations.
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
