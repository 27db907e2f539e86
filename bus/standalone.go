package bus

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nuid"
)

const (
	// storeFolder is the folder of JetStream within StoreDir.
	storeFolder = "jetstream"
	// standaloneFolder holds a node's stand-alone streams until they are migrated.
	standaloneFolder = "alone"
	// migratedFolder holds them after the migration. It may be deleted.
	migratedFolder = "alone-brought"
)

// clustered reports whether dir belongs to a cluster node: it contains the meta log.
func clustered(dir string) bool {
	return exists(filepath.Join(dir, storeFolder, "$SYS", "_js_", "_meta_"))
}

// moveStandalone moves stand-alone streams out of the way: a node deletes streams that
// its cluster does not know (nats-server, jetstream_cluster.go, checkForOrphans).
func moveStandalone(dir string) error {
	store := filepath.Join(dir, storeFolder)
	if !exists(store) || clustered(dir) {
		return nil
	}
	alone := filepath.Join(dir, standaloneFolder)
	if exists(alone) {
		return nil // an interrupted start has moved it and left an empty store
	}
	if err := os.Mkdir(alone, 0o750); err != nil {
		return fmt.Errorf("move the stand-alone data: %w", err)
	}
	return wrap("move the stand-alone data", renameDurably(store, filepath.Join(alone, storeFolder)))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// madeName returns a unique node name.
func madeName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "node"
	}
	host, _, _ = strings.Cut(host, ".")
	return host + "-" + strings.ToLower(nuid.Next()[16:])
}
