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
	// foundingSubject carries the queries of nodes for each other's stand-alone data.
	foundingSubject = "cairn.cluster.founding"
	// foundingPause bounds a query and separates attempts.
	foundingPause = 300 * time.Millisecond
	// lookTime bounds a JetStream request; without a leader it gets no reply.
	lookTime = 2 * time.Second
	// saidEvery is the interval of the log line that reports the wait.
	saidEvery = 10 * time.Second
)

// founder prevents a node from creating streams in the cluster that another node
// migrates.
type founder struct {
	server *Server
	conn   *Conn
	copies int
	log    *slog.Logger
	brings atomic.Bool
	note   bucket.Note     // of this node's migration
	whole  map[string]bool // streams that were migrated
	said   time.Time
}

// founding is a node's reply to a query.
type founding struct {
	Node   string `json:"node"`
	Brings bool   `json:"brings"` // has stand-alone streams to migrate
	Copy   *held  `json:"copy,omitempty"`
}

// held is what a node stores of a stream.
type held struct {
	Messages uint64 `json:"messages"`
	Last     uint64 `json:"last"` // sequence
}

// Found returns when the cluster has a quorum and its streams exist or may be
// created. It first migrates this node's stand-alone streams into the cluster, each
// with the given number of replicas, and waits for a migration that another node has
// begun. It fails, and changes nothing, if two nodes have stand-alone streams or the
// cluster has its own. It reports progress in log and through Trouble. On a
// stand-alone server it returns at once.
func (s *Server) Found(ctx context.Context, conn *Conn, copies int, log *slog.Logger) (stop func(), err error) {
	if s.node == "" {
		return func() {}, nil
	}
	f := &founder{server: s, conn: conn, copies: copies, log: log, whole: map[string]bool{}}
	f.brings.Store(exists(filepath.Join(s.dir, aloneFolder)))
	sub, err := conn.nc.Subscribe(foundingSubject, f.answer)
	if err != nil {
		return nil, fmt.Errorf("bootstrap the cluster: %w", err)
	}
	stop = func() { _ = sub.Unsubscribe() } // fails only on a closed connection
	defer s.waits.Store("")
	if err := f.wait(ctx); err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

func (f *founder) answer(msg *nats.Msg) {
	said := founding{Node: f.server.node, Brings: f.brings.Load()}
	if len(msg.Data) > 0 {
		said.Copy = f.server.held(string(msg.Data))
	}
	body, _ := json.Marshal(said) // the sender retries
	_ = msg.Respond(body)         // the sender retries
}

// wait retries attempt until the cluster is ready.
func (f *founder) wait(ctx context.Context) error {
	for {
		done, waits, err := f.attempt(ctx)
		if done || err != nil {
			return err
		}
		another := waits != f.server.waits.String()
		f.server.waits.Store(waits)
		if waits != "" && (another || time.Since(f.said) > saidEvery) {
			f.said = time.Now()
			f.log.Warn("waiting for the cluster", "node", f.server.node, "reason", waits)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(foundingPause):
		}
	}
}

// attempt reports whether the cluster is ready, or else the reason.
func (f *founder) attempt(ctx context.Context) (done bool, waits string, err error) {
	if trouble, quorum := f.server.Trouble(); !quorum {
		return false, trouble, nil
	}
	nodes, err := f.ask(ctx, "")
	if err != nil {
		return false, "the nodes do not reply to each other: " + err.Error(), nil
	}
	brings := f.brings.Load()
	if i := slices.IndexFunc(nodes, func(n founding) bool { return n.Brings && n.Node != f.server.node }); i >= 0 {
		if brings {
			return false, "", fmt.Errorf("both this node and %s have stand-alone data; delete one of them: %s",
				nodes[i].Node, filepath.Join(f.server.dir, aloneFolder))
		}
		return false, "node " + nodes[i].Node + " is migrating its data", nil
	}
	founded, note, err := f.look(ctx)
	switch {
	case err != nil:
		return false, err.Error(), nil
	case note.Node != "" && !brings:
		return f.noted(ctx, note)
	case len(nodes) >= f.copies && brings:
		return f.bring(ctx, note)
	case len(nodes) >= f.copies:
		return true, "", nil
	}
	waits = fmt.Sprintf("%d nodes are connected, %d replicas are configured", len(nodes), f.copies)
	return !brings && founded, waits, nil
}

// look returns whether the cluster has streams, and the migration note. It reads the
// streams first: a note is written before them and removed after them.
func (f *founder) look(ctx context.Context) (founded bool, note bucket.Note, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	founded = f.conn.hasStreams(ctx)
	note, err = bucket.ReadNote(ctx, f.conn.js)
	return founded, note, err
}

// ask queries the connected nodes, also for what they store of the stream, if any.
func (f *founder) ask(ctx context.Context, stream string) (nodes []founding, err error) {
	inbox := f.conn.nc.NewInbox()
	sub, err := f.conn.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only on a closed connection
	if err := f.conn.nc.PublishRequest(foundingSubject, inbox, []byte(stream)); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, foundingPause)
	defer cancel()
	for all := max(f.copies, 1+len(f.server.peers())); len(nodes) < all; {
		msg, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			break
		}
		var n founding
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
