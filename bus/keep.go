package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// keptTime is how long an event of a run can be asked for again.
	keptTime = 2 * time.Minute
	// keptBytes is the most that the events of all runs take, in bytes; the
	// oldest go first.
	keptBytes = 128 << 20
	// keepAgain is how long a failed attempt to have them kept rests.
	keepAgain = time.Second
)

// Keep has JetStream keep the events of runs, so that they can be resumed, on
// as many servers as replicas says (0: as they are kept, and 1 at first): one
// that dies has none of the others' forget what was said. It does so until stop, which returns when that is done. A server that was started anew,
// and has forgotten it, is told again. Without JetStream streams work as well,
// but for Resume.
func (s Stream[Req]) Keep(c *Conn, replicas int, log *slog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	k := keeper{conn: c, log: log, config: s.keptAs(), replicas: replicas}
	lost := c.lost()
	ok := k.ensure(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { k.watch(ctx, lost, ok) })
	return func() { cancel(); watching.Wait() }
}

// kept is the name of the stream of JetStream that has the events.
func (s Stream[Req]) kept() string {
	return strings.ReplaceAll(strings.TrimPrefix(s.Subject, "cairn."), ".", "_")
}

func (s Stream[Req]) keptAs() jetstream.StreamConfig {
	return jetstream.StreamConfig{
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
	}
}

type keeper struct {
	conn     *Conn
	log      *slog.Logger
	config   jetstream.StreamConfig
	replicas int
}

// watch ensures it again after each loss of the connection, and while it fails.
func (k keeper) watch(ctx, lost context.Context, ok bool) {
	again := time.NewTicker(keepAgain)
	defer again.Stop()
	for {
		retry := again.C
		if ok {
			retry = nil
		}
		select {
		case <-ctx.Done():
			return
		case <-lost.Done():
			if k.conn.WaitConnected(ctx) != nil {
				return
			}
		case <-retry:
		}
		lost = k.conn.lost()
		ok = k.ensure(ctx)
	}
}

func (k keeper) ensure(ctx context.Context) bool {
	err := k.make(ctx)
	if err != nil && ctx.Err() == nil {
		k.log.Warn("streams cannot be resumed", "err", fmt.Errorf("keep the events of %s: %w", k.config.Subjects[0], err))
	}
	return err == nil
}

func (k keeper) make(ctx context.Context) error {
	config := k.config
	config.Replicas = max(1, k.replicas)
	if k.replicas == 0 {
		s, err := k.conn.js.Stream(ctx, config.Name)
		if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			return err
		}
		if err == nil {
			config.Replicas = s.CachedInfo().Config.Replicas
		}
	}
	_, err := k.conn.js.CreateOrUpdateStream(ctx, config)
	return err
}
