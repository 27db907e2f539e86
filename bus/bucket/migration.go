package bucket

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// Migration is the marker of a migration in progress: one node copies the data that it
// stored while it was stand-alone to the cluster. Until the marker is removed, the data
// of the cluster is incomplete, even while that node is down.
type Migration struct {
	Node string // the migrating node; empty: no migration is in progress
	ID   string // unique ID of the migration
}

// MigrationStream is the name of an empty stream whose metadata contains the marker.
const MigrationStream = "CAIRN_MIGRATION"

const nodeKey, idKey = "cairn-node", "cairn-note" // of the metadata

// ReadMigration returns the migration of the cluster, or the zero value if there is none.
func ReadMigration(ctx context.Context, js jetstream.JetStream) (Migration, error) {
	s, err := js.Stream(ctx, MigrationStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return Migration{}, nil
	}
	if err != nil {
		return Migration{}, fmt.Errorf("read the migration marker: %w", err)
	}
	metadata := s.CachedInfo().Config.Metadata
	return Migration{metadata[nodeKey], metadata[idKey]}, nil
}

// Write creates the marker with the given number of replicas.
func (m Migration) Write(ctx context.Context, js jetstream.JetStream, copies int) error {
	_, err := js.CreateStream(ctx, jetstream.StreamConfig{
		Name: MigrationStream, Description: "node " + m.Node + " is migrating its data; until it has finished, the cluster is incomplete",
		Replicas: copies, Metadata: map[string]string{nodeKey: m.Node, idKey: m.ID},
	})
	if err != nil {
		return fmt.Errorf("write the migration marker of node %s: %w", m.Node, err)
	}
	return nil
}

// Remove deletes the marker if it exists.
func (m Migration) Remove(ctx context.Context, js jetstream.JetStream) error {
	if err := js.DeleteStream(ctx, MigrationStream); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("remove the migration marker of node %s: %w", m.Node, err)
	}
	return nil
}

// Mark adds the ID to the metadata of a stream that the migration creates.
func (m Migration) Mark(c *jetstream.StreamConfig) {
	if c.Metadata == nil {
		c.Metadata = map[string]string{}
	}
	c.Metadata[idKey] = m.ID
}

// Marks reports whether the stream has the ID in its metadata.
func (m Migration) Marks(s *jetstream.StreamInfo) bool { return s.Config.Metadata[idKey] == m.ID }
