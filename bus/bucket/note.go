package bucket

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// Note marks a migration: one node copies the data that it stored while it was
// stand-alone to the cluster. Until the note is removed, the data of the cluster is
// incomplete, even while that node is down.
type Note struct {
	Node string // the migrating node; empty: there is no note
	ID   string // unique ID of the note
}

// NoteStream is the name of an empty stream whose metadata contains the note.
const NoteStream = "CAIRN_BRINGING"

const noteNode, noteID = "cairn-node", "cairn-note"

// ReadNote returns the note of the cluster, or the zero value if there is none.
func ReadNote(ctx context.Context, js jetstream.JetStream) (Note, error) {
	s, err := js.Stream(ctx, NoteStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return Note{}, nil
	}
	if err != nil {
		return Note{}, fmt.Errorf("look whether a node brings its data: %w", err)
	}
	m := s.CachedInfo().Config.Metadata
	return Note{m[noteNode], m[noteID]}, nil
}

// Write creates the note with the given number of replicas.
func (n Note) Write(ctx context.Context, js jetstream.JetStream, copies int) error {
	_, err := js.CreateStream(ctx, jetstream.StreamConfig{
		Name: NoteStream, Description: "node " + n.Node + " brings its data; without it, the cluster is not whole",
		Replicas: copies, Metadata: map[string]string{noteNode: n.Node, noteID: n.ID},
	})
	if err != nil {
		return fmt.Errorf("tell the cluster that node %s brings its data: %w", n.Node, err)
	}
	return nil
}

// Remove deletes the note if it exists.
func (n Note) Remove(ctx context.Context, js jetstream.JetStream) error {
	if err := js.DeleteStream(ctx, NoteStream); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("tell the cluster that node %s has brought its data: %w", n.Node, err)
	}
	return nil
}

// Mark adds the ID of the note to the metadata of a stream that the migration creates.
func (n Note) Mark(c *jetstream.StreamConfig) {
	if c.Metadata == nil {
		c.Metadata = map[string]string{}
	}
	c.Metadata[noteID] = n.ID
}

// Marks reports whether the stream has the ID of the note in its metadata.
func (n Note) Marks(s *jetstream.StreamInfo) bool { return s.Config.Metadata[noteID] == n.ID }
