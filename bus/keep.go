package bus

import (
	"context"
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

// Keep has JetStream keep the events of runs, so that they can be resumed,
// until stop, which returns when that is done. A server that was started anew,
// and has forgotten it, is told again. Without JetStream streams work as well,
// but for Resume.
func (s Stream[Req]) Keep(c *Conn, log *slog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	k := keeper{conn: c, log: log, config: s.keptAs()}
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
	conn   *Conn
	log    *slog.Logger
	config jetstream.StreamConfig
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
	_, err := k.conn.js.CreateOrUpdateStream(ctx, k.config)
	if err != nil && ctx.Err() == nil {
		k.log.Warn("streams cannot be resumed", "err", fmt.Errorf("keep the events of %s: %w", k.config.Subjects[0], err))
	}
	return err == nil
}
