package bus

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"cairn/bus/bucket"
)

// migrationFile, in the folder of the streams to migrate, holds the ID of the
// migration: its owner may resume and finish it.
const migrationFile = "note"

var (
	// errExists: the cluster already has a stream that the node migrates.
	errExists = errors.New("the cluster already has this data")
	// errIncomplete: a copy was interrupted on the side of the cluster.
	errIncomplete = errors.New("the copy is incomplete and is repeated")
)

// migrate copies the node's stand-alone streams into the cluster. It writes the
// migration marker first, which marks every copy: an unfinished copy is replaced, and
// a stream without the mark is left alone. After the last copy it renames the folder
// and then removes the marker; other nodes wait until then.
func (b *bootstrap) migrate(ctx context.Context, current bucket.Migration) (done bool, waits string, err error) {
	folder := filepath.Join(b.server.dir, standaloneFolder)
	old, err := StartServer(folder, "")
	if err != nil {
		return false, "", err
	}
	defer old.Stop()
	from, err := old.Open("cairn-alone")
	if err != nil {
		return false, "", err
	}
	defer from.Close()
	var names []string
	list := from.js.StreamNames(ctx)
	for name := range list.Name() {
		names = append(names, name)
	}
	if err := list.Err(); err != nil {
		return false, "", fmt.Errorf("list the streams in %s: %w", folder, err)
	}
	switch err := b.copyAll(ctx, current, from, folder, names); {
	case errors.Is(err, errExists):
		return false, "", err
	case err != nil:
		return false, err.Error(), nil
	}
	if err := renameDurably(folder, filepath.Join(b.server.dir, migratedFolder)); err != nil {
		return false, "", fmt.Errorf("rename the migrated data: %w", err)
	}
	b.migrates.Store(false)
	b.log.Info("renamed the migrated data", "node", b.server.node)
	return false, "", nil // the next attempt removes the marker
}

func (b *bootstrap) copyAll(ctx context.Context, current bucket.Migration, from *Conn, folder string, names []string) error {
	if err := b.announce(ctx, current, folder, names); err != nil {
		return err
	}
	b.log.Info("migrating data into the cluster", "node", b.server.node, "streams", len(names))
	for _, name := range names {
		if b.migrated[name] {
			continue
		}
		if err := b.migrateStream(ctx, from, name); err != nil {
			return err
		}
		b.migrated[name] = true
		b.log.Info("stream migrated", "node", b.server.node, "stream", name)
	}
	return nil
}

// announce writes the migration marker, unless it is this node's already. It fails if
// the cluster has any of the streams.
func (b *bootstrap) announce(ctx context.Context, current bucket.Migration, folder string, names []string) error {
	switch {
	case current.Node != "" && current.ID == migrationID(folder):
		b.migration = current
		return nil
	case current.Node != "":
		return fmt.Errorf("%w: node %s has begun a migration, and this node has stand-alone data in %s; delete one of them", errExists,
			current.Node, folder)
	}
	for _, name := range names {
		if err := b.free(ctx, name); err != nil {
			return err
		}
	}
	clear(b.migrated)
	b.migration = bucket.Migration{Node: b.server.node, ID: nuid.Next()}
	if err := writeDurably(filepath.Join(folder, migrationFile), []byte(b.migration.ID)); err != nil {
		return fmt.Errorf("store the migration ID: %w", err)
	}
	return b.migration.Write(ctx, b.conn.js, b.copies)
}

// migrationID returns the ID of the migration of folder, or "".
func migrationID(folder string) string {
	id, err := os.ReadFile(filepath.Join(folder, migrationFile))
	if err != nil {
		return ""
	}
	return string(id)
}

// awaitMigration handles a migration marker on a node without streams to migrate: it removes
// the marker of its own finished migration, and waits for another node's.
func (b *bootstrap) awaitMigration(ctx context.Context, current bucket.Migration) (done bool, waits string, err error) {
	folder := filepath.Join(b.server.dir, migratedFolder)
	if current.ID != migrationID(folder) {
		return false, "node " + current.Node + " has not finished its migration: start it with its data folder", nil
	}
	if err := current.Remove(ctx, b.conn.js); err != nil {
		return false, err.Error(), nil
	}
	b.log.Info("migration finished; the copied data may be deleted", "node", b.server.node, "folder", folder)
	return false, "", nil
}

// free returns nil if the cluster has no such stream, or a copy of this migration.
func (b *bootstrap) free(ctx context.Context, name string) error {
	s, err := b.conn.js.Stream(ctx, name)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("read stream %s: %w", name, err)
	case b.migration.ID == "" || !b.migration.Marks(s.CachedInfo()):
		return fmt.Errorf("%w: stream %s, and this node has one in %s; delete one of them", errExists, name,
			filepath.Join(b.server.dir, standaloneFolder))
	}
	return nil
}

// migrateStream copies one stream and replaces an unfinished copy.
func (b *bootstrap) migrateStream(ctx context.Context, from *Conn, name string) error {
	if err := b.free(ctx, name); err != nil {
		return err
	}
	if err := b.conn.js.DeleteStream(ctx, name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("delete the incomplete copy of stream %s: %w", name, err)
	}
	b.log.Info("migrating stream", "node", b.server.node, "stream", name, "replicas", b.copies)
	err := copyStream(ctx, from, b.conn, name, func(c *jetstream.StreamConfig) {
		c.Replicas = b.copies
		b.migration.Mark(c)
		c.PersistMode = jetstream.DefaultPersistMode // async persistence needs a single replica
	})
	if err != nil {
		return err
	}
	return b.copied(ctx, from, name)
}

// copied waits until every replica has all messages of the source: until then
// they could be lost with this node.
func (b *bootstrap) copied(ctx context.Context, from *Conn, name string) error {
	for {
		source, err := from.js.Stream(ctx, name)
		if err != nil {
			return fmt.Errorf("read stream %s: %w", name, err)
		}
		want := source.CachedInfo().State
		s, err := b.conn.js.Stream(ctx, name)
		led := err == nil && s.CachedInfo().Cluster != nil && s.CachedInfo().Cluster.Leader != ""
		if errors.Is(err, jetstream.ErrStreamNotFound) || led && s.CachedInfo().State.LastSeq < want.LastSeq {
			return fmt.Errorf("stream %s: %w", name, errIncomplete)
		}
		if led && b.copiesOf(ctx, name, want) >= b.copies {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(bootstrapInterval):
		}
	}
}

// copiesOf returns how many nodes hold the whole stream. Messages that expired at
// the source may exist in a replica for a moment longer.
func (b *bootstrap) copiesOf(ctx context.Context, name string, want jetstream.StreamState) (count int) {
	nodes, _ := b.query(ctx, name) // on an error the caller retries
	for _, n := range nodes {
		if n.Copy != nil && n.Copy.Last == want.LastSeq && n.Copy.Messages >= want.Msgs {
			count++
		}
	}
	return count
}

// held returns what this server stores of the stream, or nil.
func (s *Server) held(stream string) *streamCopy {
	account, err := s.ns.JszAccount(&server.JSzOptions{Account: server.DEFAULT_GLOBAL_ACCOUNT, Streams: true})
	if err != nil {
		return nil
	}
	for _, d := range account.Streams {
		if d.Name == stream {
			return &streamCopy{d.State.Msgs, d.State.LastSeq}
		}
	}
	return nil
}
