package bus

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"cairn/bus/bucket"
)

const (
	// bootstrapSubject carries the queries of nodes for each other's stand-alone data.
	bootstrapSubject = "cairn.cluster.bootstrap"
	// bootstrapInterval bounds a query and separates attempts.
	bootstrapInterval = 300 * time.Millisecond
	// jetStreamTimeout bounds a JetStream request; without a leader it gets no reply.
	jetStreamTimeout = 2 * time.Second
	// logInterval is the interval of the log line that reports the wait.
	logInterval = 10 * time.Second
)

// bootstrap prevents a node from creating streams in the cluster that another node
// migrates.
type bootstrap struct {
	server    *Server
	conn      *Conn
	copies    int
	log       *slog.Logger
	migrates  atomic.Bool
	migration bucket.Migration // of this node's migration
	migrated  map[string]bool  // streams that were migrated
	logged    time.Time
}

// nodeState is a node's reply to a query.
type nodeState struct {
	Node     string      `json:"node"`
	Migrates bool        `json:"migrates"` // has stand-alone streams to migrate
	Copy     *streamCopy `json:"copy,omitempty"`
}

// streamCopy is the state of a node's copy of a stream.
type streamCopy struct {
	Messages uint64 `json:"messages"`
	Last     uint64 `json:"last"` // sequence
}

// Bootstrap returns when the cluster has a quorum and its streams exist or may be
// created. It first migrates this node's stand-alone streams into the cluster, each
// with the given number of replicas, and waits for a migration that another node has
// begun. It fails, and changes nothing, if two nodes have stand-alone streams or the
// cluster has its own. It reports progress in log and through Trouble. On a
// stand-alone server it returns at once.
func (s *Server) Bootstrap(ctx context.Context, conn *Conn, copies int, log *slog.Logger) (stop func(), err error) {
	if s.node == "" {
		return func() {}, nil
	}
	b := &bootstrap{server: s, conn: conn, copies: copies, log: log, migrated: map[string]bool{}}
	b.migrates.Store(exists(filepath.Join(s.dir, standaloneFolder)))
	sub, err := conn.nc.Subscribe(bootstrapSubject, b.answer)
	if err != nil {
		return nil, fmt.Errorf("bootstrap the cluster: %w", err)
	}
	stop = func() { _ = sub.Unsubscribe() } // fails only on a closed connection
	defer s.waits.Store("")
	if err := b.wait(ctx); err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

func (b *bootstrap) answer(msg *nats.Msg) {
	said := nodeState{Node: b.server.node, Migrates: b.migrates.Load()}
	if len(msg.Data) > 0 {
		said.Copy = b.server.held(string(msg.Data))
	}
	body, _ := json.Marshal(said) // the sender retries
	_ = msg.Respond(body)         // the sender retries
}

// wait retries attempt until the cluster is ready.
func (b *bootstrap) wait(ctx context.Context) error {
	for {
		done, waits, err := b.attempt(ctx)
		if done || err != nil {
			return err
		}
		another := waits != b.server.waits.String()
		b.server.waits.Store(waits)
		if waits != "" && (another || time.Since(b.logged) > logInterval) {
			b.logged = time.Now()
			b.log.Warn("waiting for the cluster", "node", b.server.node, "reason", waits)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(bootstrapInterval):
		}
	}
}

// attempt reports whether the cluster is ready, or else the reason.
func (b *bootstrap) attempt(ctx context.Context) (done bool, waits string, err error) {
	if trouble, quorum := b.server.Trouble(); !quorum {
		return false, trouble, nil
	}
	nodes, err := b.query(ctx, "")
	if err != nil {
		return false, "the nodes do not reply to each other: " + err.Error(), nil
	}
	migrates := b.migrates.Load()
	if i := slices.IndexFunc(nodes, func(n nodeState) bool { return n.Migrates && n.Node != b.server.node }); i >= 0 {
		if migrates {
			return false, "", fmt.Errorf("both this node and %s have stand-alone data; delete one of them: %s",
				nodes[i].Node, filepath.Join(b.server.dir, standaloneFolder))
		}
		return false, "node " + nodes[i].Node + " is migrating its data", nil
	}
	bootstrapped, current, err := b.state(ctx)
	switch {
	case err != nil:
		return false, err.Error(), nil
	case current.Node != "" && !migrates:
		return b.awaitMigration(ctx, current)
	case len(nodes) >= b.copies && migrates:
		return b.migrate(ctx, current)
	case len(nodes) >= b.copies:
		return true, "", nil
	}
	waits = fmt.Sprintf("%d nodes are connected, %d replicas are configured", len(nodes), b.copies)
	return !migrates && bootstrapped, waits, nil
}

// state returns whether the cluster has streams, and the migration marker. It reads the
// streams first: the marker is written before them and removed after them.
func (b *bootstrap) state(ctx context.Context) (bootstrapped bool, current bucket.Migration, err error) {
	ctx, cancel := context.WithTimeout(ctx, jetStreamTimeout)
	defer cancel()
	bootstrapped = b.conn.hasStreams(ctx)
	current, err = bucket.ReadMigration(ctx, b.conn.js)
	return bootstrapped, current, err
}

// query asks the connected nodes, also for what they store of the stream, if any.
func (b *bootstrap) query(ctx context.Context, stream string) (nodes []nodeState, err error) {
	inbox := b.conn.nc.NewInbox()
	sub, err := b.conn.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only on a closed connection
	if err := b.conn.nc.PublishRequest(bootstrapSubject, inbox, []byte(stream)); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, bootstrapInterval)
	defer cancel()
	for all := max(b.copies, 1+len(b.server.peers())); len(nodes) < all; {
		msg, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			break
		}
		var n nodeState
		if json.Unmarshal(msg.Data, &n) == nil && n.Node != "" {
			nodes = append(nodes, n)
		}
	}
	return nodes, nil
}

// hasStreams reports whether the account has streams, that is whether the cluster was
// bootstrapped before.
func (c *Conn) hasStreams(ctx context.Context) bool {
	account, err := c.js.AccountInfo(ctx)
	return err == nil && account.Streams > 0
}
