package bucket

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// Note is in a cluster while one of its nodes brings what it kept when it was
// alone: until then what the cluster has is not whole, whether the node is there
// or not.
type Note struct {
	Node string // that brings; empty: there is no note
	ID   string // of this note, unlike all others
}

// NoteStream is an empty stream, whose settings are the note.
const NoteStream = "CAIRN_BRINGING"

const noteNode, noteID = "cairn-node", "cairn-note"

// ReadNote is the note of the cluster that js is connected to.
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

// Write puts the note where there is none, on so many servers.
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

// Remove takes the note away, if it is there.
func (n Note) Remove(ctx context.Context, js jetstream.JetStream) error {
	if err := js.DeleteStream(ctx, NoteStream); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("tell the cluster that node %s has brought its data: %w", n.Node, err)
	}
	return nil
}

// Mark says in the settings of a stream that it is one of those the note is about.
func (n Note) Mark(c *jetstream.StreamConfig) {
	if c.Metadata == nil {
		c.Metadata = map[string]string{}
	}
	c.Metadata[noteID] = n.ID
}

// Marks reports whether the stream has the mark.
func (n Note) Marks(s *jetstream.StreamInfo) bool { return s.Config.Metadata[noteID] == n.ID }
