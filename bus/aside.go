package bus

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nuid"
)

const (
	// storeFolder is where a server keeps its streams, in the folder it is given.
	storeFolder = "jetstream"
	// aloneFolder has what a node kept before it was one, until the cluster has it.
	aloneFolder = "alone"
	// broughtFolder has it afterwards. It may be deleted.
	broughtFolder = "alone-brought"
)

// clustered reports whether dir is that of a node: it has the cluster's log.
func clustered(dir string) bool {
	return exists(filepath.Join(dir, storeFolder, "$SYS", "_js_", "_meta_"))
}

// putAside moves streams away that a server kept in dir when it was alone: the
// cluster does not know them, and a node deletes what its cluster does not know
// (nats-server, jetstream_cluster.go, checkForOrphans).
func putAside(dir string) error {
	store := filepath.Join(dir, storeFolder)
	if !exists(store) || clustered(dir) {
		return nil
	}
	alone := filepath.Join(dir, aloneFolder)
	if exists(alone) {
		return nil // a start that ended early has moved it, and left an empty store
	}
	if err := os.Mkdir(alone, 0o750); err != nil {
		return fmt.Errorf("put the data aside: %w", err)
	}
	return wrap("put the data aside", renameDurably(store, filepath.Join(alone, storeFolder)))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// madeName is a name for a node that nobody else has.
func madeName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "node"
	}
	host, _, _ = strings.Cut(host, ".")
	return host + "-" + strings.ToLower(nuid.Next()[16:])
}
