package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
)

const (
	// keptTime is how long an event of a run can be asked for again.
	keptTime = 2 * time.Minute
	// keptBytes is the most that the events of all runs take, in bytes; the
	// oldest go first.
	keptBytes = 128 << 20
)

// Setup creates the JetStream stream that retains the events of runs for Resume,
// or upgrades one that exists. It is in memory: a server that belongs to no cluster
// loses it when it restarts, and until the next Setup no run can be resumed.
func (s Stream[Req]) Setup(ctx context.Context, c *Conn, copies bucket.Copies) error {
	config := jetstream.StreamConfig{
		Name:        s.kept(),
		Subjects:    []string{s.control("*") + keptToken},
		Storage:     jetstream.MemoryStorage,
		MaxAge:      keptTime,
		MaxBytes:    keptBytes,
		Discard:     jetstream.DiscardOld,
		NoAck:       true, // events are never waited for
		AllowDirect: true,
		DenyDelete:  true,
		DenyPurge:   true,
		Replicas:    max(1, copies.Replicas),
	}
	return bucket.Await(ctx, c.js, "set up stream "+config.Name, func() error {
		if copies.Replicas == 0 {
			existing, err := c.js.Stream(ctx, config.Name)
			if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
				return err
			}
			if err == nil {
				config.Replicas = existing.CachedInfo().Config.Replicas
			}
		}
		_, err := c.js.CreateOrUpdateStream(ctx, config)
		return err
	})
}

// Bind returns when the stream of Setup exists, or with ctx's error.
func (s Stream[Req]) Bind(ctx context.Context, c *Conn) error {
	if _, err := bucket.BindStream(ctx, c.js, s.kept()); err != nil {
		return fmt.Errorf("replay events of %s: %w", s.Subject, err)
	}
	return nil
}

// kept is the name of the stream of JetStream that has the events.
func (s Stream[Req]) kept() string {
	return strings.ReplaceAll(strings.TrimPrefix(s.Subject, "cairn."), ".", "_")
}
