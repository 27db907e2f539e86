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

// noteFile, in the folder of the streams to migrate, holds the ID of the
// migration: its owner may resume and finish it.
const noteFile = "note"

var (
	// errTwice: the cluster already has a stream that the node migrates.
	errTwice = errors.New("the cluster already has this data")
	// errCut: a copy was interrupted on the side of the cluster.
	errCut = errors.New("the copy is incomplete and is repeated")
)

// bring migrates the node's stand-alone streams into the cluster. It writes the
// migration note first, which marks every copy: an unfinished copy is replaced, and
// a stream without the mark is left alone. After the last copy it renames the folder
// and then removes the note; other nodes wait until then.
func (f *founder) bring(ctx context.Context, note bucket.Note) (done bool, waits string, err error) {
	folder := filepath.Join(f.server.dir, aloneFolder)
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
	switch err := f.copyAll(ctx, note, from, folder, names); {
	case errors.Is(err, errTwice):
		return false, "", err
	case err != nil:
		return false, err.Error(), nil
	}
	if err := renameDurably(folder, filepath.Join(f.server.dir, broughtFolder)); err != nil {
		return false, "", fmt.Errorf("rename the migrated data: %w", err)
	}
	f.brings.Store(false)
	f.log.Info("renamed the migrated data", "node", f.server.node)
	return false, "", nil // the next attempt removes the note
}

func (f *founder) copyAll(ctx context.Context, note bucket.Note, from *Conn, folder string, names []string) error {
	if err := f.announce(ctx, note, folder, names); err != nil {
		return err
	}
	f.log.Info("migrating data into the cluster", "node", f.server.node, "streams", len(names))
	for _, name := range names {
		if f.whole[name] {
			continue
		}
		if err := f.bringStream(ctx, from, name); err != nil {
			return err
		}
		f.whole[name] = true
		f.log.Info("stream migrated", "node", f.server.node, "stream", name)
	}
	return nil
}

// announce writes the migration note, unless it is this node's already. It fails if
// the cluster has any of the streams.
func (f *founder) announce(ctx context.Context, note bucket.Note, folder string, names []string) error {
	switch {
	case note.Node != "" && note.ID == keptNote(folder):
		f.note = note
		return nil
	case note.Node != "":
		return fmt.Errorf("%w: node %s has begun a migration, and this node has stand-alone data in %s; delete one of them", errTwice, note.Node, folder)
	}
	for _, name := range names {
		if err := f.free(ctx, name); err != nil {
			return err
		}
	}
	clear(f.whole)
	f.note = bucket.Note{Node: f.server.node, ID: nuid.Next()}
	if err := writeDurably(filepath.Join(folder, noteFile), []byte(f.note.ID)); err != nil {
		return fmt.Errorf("store the migration ID: %w", err)
	}
	return f.note.Write(ctx, f.conn.js, f.copies)
}

// keptNote returns the ID of the migration of folder, or "".
func keptNote(folder string) string {
	id, err := os.ReadFile(filepath.Join(folder, noteFile))
	if err != nil {
		return ""
	}
	return string(id)
}

// noted handles a migration note on a node without streams to migrate: it removes
// the note of its own finished migration, and waits for another node's.
func (f *founder) noted(ctx context.Context, note bucket.Note) (done bool, waits string, err error) {
	kept := filepath.Join(f.server.dir, broughtFolder)
	if note.ID != keptNote(kept) {
		return false, "node " + note.Node + " has not finished its migration: start it with its data folder", nil
	}
	if err := note.Remove(ctx, f.conn.js); err != nil {
		return false, err.Error(), nil
	}
	f.log.Info("migration finished; the copied data may be deleted", "node", f.server.node, "folder", kept)
	return false, "", nil
}

// free returns nil if the cluster has no such stream, or a copy of this migration.
func (f *founder) free(ctx context.Context, name string) error {
	s, err := f.conn.js.Stream(ctx, name)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("read stream %s: %w", name, err)
	case f.note.ID == "" || !f.note.Marks(s.CachedInfo()):
		return fmt.Errorf("%w: stream %s, and this node has one in %s; delete one of them", errTwice, name, filepath.Join(f.server.dir, aloneFolder))
	}
	return nil
}

// bringStream copies one stream and replaces an unfinished copy.
func (f *founder) bringStream(ctx context.Context, from *Conn, name string) error {
	if err := f.free(ctx, name); err != nil {
		return err
	}
	if err := f.conn.js.DeleteStream(ctx, name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("delete the incomplete copy of stream %s: %w", name, err)
	}
	f.log.Info("migrating stream", "node", f.server.node, "stream", name, "replicas", f.copies)
	err := copyStream(ctx, from, f.conn, name, func(c *jetstream.StreamConfig) {
		c.Replicas = f.copies
		f.note.Mark(c)
		c.PersistMode = jetstream.DefaultPersistMode // async persistence needs a single replica
	})
	if err != nil {
		return err
	}
	return f.copied(ctx, from, name)
}

// copied waits until every replica has all messages of the source: until then
// they could be lost with this node.
func (f *founder) copied(ctx context.Context, from *Conn, name string) error {
	for {
		source, err := from.js.Stream(ctx, name)
		if err != nil {
			return fmt.Errorf("read stream %s: %w", name, err)
		}
		want := source.CachedInfo().State
		s, err := f.conn.js.Stream(ctx, name)
		led := err == nil && s.CachedInfo().Cluster != nil && s.CachedInfo().Cluster.Leader != ""
		if errors.Is(err, jetstream.ErrStreamNotFound) || led && s.CachedInfo().State.LastSeq < want.LastSeq {
			return fmt.Errorf("stream %s: %w", name, errCut)
		}
		if led && f.copiesOf(ctx, name, want) >= f.copies {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(foundingPause):
		}
	}
}

// copiesOf returns how many nodes hold the whole stream. Messages that expired at
// the source may exist in a replica for a moment longer.
func (f *founder) copiesOf(ctx context.Context, name string, want jetstream.StreamState) (count int) {
	nodes, _ := f.ask(ctx, name) // on an error the caller retries
	for _, n := range nodes {
		if n.Copy != nil && n.Copy.Last == want.LastSeq && n.Copy.Messages >= want.Msgs {
			count++
		}
	}
	return count
}

// held returns what this server stores of the stream, or nil.
func (s *Server) held(stream string) *held {
	account, err := s.ns.JszAccount(&server.JSzOptions{Account: server.DEFAULT_GLOBAL_ACCOUNT, Streams: true})
	if err != nil {
		return nil
	}
	for _, d := range account.Streams {
		if d.Name == stream {
			return &held{d.State.Msgs, d.State.LastSeq}
		}
	}
	return nil
}
