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

// noteFile is in the folder of what a node brings, and has the ID of its note:
// who has it may redo what the note is about, and end it.
const noteFile = "note"

var (
	// errTwice says that a stream is there already that a node brings.
	errTwice = errors.New("the cluster has its own")
	// errCut says that a copy ended early, on the side of the cluster.
	errCut = errors.New("the copy is not whole, and is made again")
)

// bring copies what the node kept when it was alone into the cluster, which gets
// a note of it first. A copy has the mark of the note: one of an attempt that was
// cut off is made anew, and what is no copy is not touched. Once all of them are whole, the data is
// put aside, and then the note goes: until then the other nodes wait.
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
		return false, "", fmt.Errorf("put the data aside: %w", err)
	}
	f.brings.Store(false)
	f.log.Info("the data of this node is put aside", "node", f.server.node)
	return false, "", nil // the note is still there
}

func (f *founder) copyAll(ctx context.Context, note bucket.Note, from *Conn, folder string, names []string) error {
	if err := f.announce(ctx, note, folder, names); err != nil {
		return err
	}
	f.log.Info("this node brings its data into the cluster", "node", f.server.node, "streams", len(names))
	for _, name := range names {
		if f.whole[name] {
			continue
		}
		if err := f.bringStream(ctx, from, name); err != nil {
			return err
		}
		f.whole[name] = true
		f.log.Info("the cluster has a stream of this node", "node", f.server.node, "stream", name)
	}
	return nil
}

// announce sees to it that the note of the cluster is this node's. It is put
// only where none of the streams is yet.
func (f *founder) announce(ctx context.Context, note bucket.Note, folder string, names []string) error {
	switch {
	case note.Node != "" && note.ID == keptNote(folder):
		f.note = note
		return nil
	case note.Node != "":
		return fmt.Errorf("%w: node %s has begun to bring data, and this node has some, in %s; one of them has to go", errTwice, note.Node, folder)
	}
	for _, name := range names {
		if err := f.free(ctx, name); err != nil {
			return err
		}
	}
	clear(f.whole)
	f.note = bucket.Note{Node: f.server.node, ID: nuid.Next()}
	if err := writeDurably(filepath.Join(folder, noteFile), []byte(f.note.ID)); err != nil {
		return fmt.Errorf("keep what is told to the cluster: %w", err)
	}
	return f.note.Write(ctx, f.conn.js, f.copies)
}

// keptNote is the ID of the note that is about what is in folder; empty: none is.
func keptNote(folder string) string {
	id, err := os.ReadFile(filepath.Join(folder, noteFile))
	if err != nil {
		return ""
	}
	return string(id)
}

// noted is what a node does about the note that brings nothing: it ends the one
// that it has done, and waits for another's.
func (f *founder) noted(ctx context.Context, note bucket.Note) (done bool, waits string, err error) {
	kept := filepath.Join(f.server.dir, broughtFolder)
	if note.ID != keptNote(kept) {
		return false, "node " + note.Node + " has begun to bring its data, and not ended: it has to be here, with its folder", nil
	}
	if err := note.Remove(ctx, f.conn.js); err != nil {
		return false, err.Error(), nil
	}
	f.log.Info("the cluster has the data of this node; what was copied may be deleted", "node", f.server.node, "folder", kept)
	return false, "", nil
}

// free says whether the cluster has no such stream, or a copy that the note is about.
func (f *founder) free(ctx context.Context, name string) error {
	s, err := f.conn.js.Stream(ctx, name)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("look for stream %s: %w", name, err)
	case f.note.ID == "" || !f.note.Marks(s.CachedInfo()):
		return fmt.Errorf("%w: stream %s, and this node brings one, in %s; one of them has to go", errTwice, name, filepath.Join(f.server.dir, aloneFolder))
	}
	return nil
}

// bringStream copies one stream, anew if there is a copy.
func (f *founder) bringStream(ctx context.Context, from *Conn, name string) error {
	if err := f.free(ctx, name); err != nil {
		return err
	}
	if err := f.conn.js.DeleteStream(ctx, name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("remove a copy of stream %s that is not whole: %w", name, err)
	}
	f.log.Info("the cluster gets a stream of this node", "node", f.server.node, "stream", name, "copies", f.copies)
	err := copyStream(ctx, from, f.conn, name, func(c *jetstream.StreamConfig) {
		c.Replicas = f.copies
		f.note.Mark(c)
		c.PersistMode = jetstream.DefaultPersistMode // a server takes no other for several copies
	})
	if err != nil {
		return err
	}
	return f.copied(ctx, from, name)
}

// copied waits until every copy of the stream has what the source has: until
// then it would go with this node.
func (f *founder) copied(ctx context.Context, from *Conn, name string) error {
	for {
		source, err := from.js.Stream(ctx, name)
		if err != nil {
			return fmt.Errorf("look at stream %s: %w", name, err)
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

// copiesOf is how many nodes hold the whole stream. What expires may have gone
// from the source, and is still in a copy for a moment.
func (f *founder) copiesOf(ctx context.Context, name string, want jetstream.StreamState) (count int) {
	nodes, _ := f.ask(ctx, name) // who cannot ask finds none
	for _, n := range nodes {
		if n.Copy != nil && n.Copy.Last == want.LastSeq && n.Copy.Messages >= want.Msgs {
			count++
		}
	}
	return count
}

// held is what this server itself has of the stream; nil: nothing.
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
