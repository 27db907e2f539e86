package bustest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"cairn/test/wait"
)

// Node is a server with the options of a configuration file.
type Node struct {
	*server.Server
	log string // file
}

// StartNode starts a server with the options, except that it listens for clients and for monitoring on free ports of
// 127.0.0.1 and has an empty store. It stops with the test.
func StartNode(t testing.TB, o *server.Options) *Node {
	t.Helper()
	o.Port, o.StoreDir = server.RANDOM_PORT, t.TempDir()
	return RestartNode(t, o)
}

// RestartNode is StartNode with the port for clients and the store of the options.
func RestartNode(t testing.TB, o *server.Options) *Node {
	t.Helper()
	o.Host, o.NoSigs = "127.0.0.1", true
	o.HTTPHost, o.HTTPPort = "127.0.0.1", server.RANDOM_PORT
	o.NoLog, o.LogFile = false, filepath.Join(t.TempDir(), "log")
	s, err := server.NewServer(o)
	Must(t, err)
	s.ConfigureLogger()
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(wait.Timeout) {
		t.Fatalf("NATS server %s is not ready after %v", s.Name(), wait.Timeout)
	}
	return &Node{s, o.LogFile}
}

// Violations returns the permission violations that the server has logged.
func (n *Node) Violations() []string {
	text, _ := os.ReadFile(n.log) // absent: none
	return slices.DeleteFunc(strings.Split(string(text), "\n"), func(line string) bool {
		return !strings.Contains(line, "iolation")
	})
}

// CheckReservations fails unless each stream has a limit, and the server has storage for all limits.
func (n *Node) CheckReservations(t testing.TB) {
	t.Helper()
	z, err := n.Jsz(&server.JSzOptions{Streams: true, Config: true})
	Must(t, err)
	reserved := map[server.StorageType]int64{}
	for _, account := range z.AccountDetails {
		for _, stream := range account.Streams {
			if stream.Config.MaxBytes <= 0 {
				t.Errorf("stream %s has no limit", stream.Name)
			}
			reserved[stream.Config.Storage] += stream.Config.MaxBytes
		}
	}
	for storage, limit := range map[server.StorageType]int64{
		server.FileStorage: z.Config.MaxStore, server.MemoryStorage: z.Config.MaxMemory,
	} {
		if sum := reserved[storage]; sum == 0 || sum > limit {
			t.Errorf("the limits of streams with %v storage are %d bytes, that of the server %d", storage, sum, limit)
		}
	}
}
