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
	// foundingSubject is where nodes ask each other whether one has data of its own.
	foundingSubject = "cairn.cluster.founding"
	// foundingPause is how long answers are waited for, and what is between attempts.
	foundingPause = 300 * time.Millisecond
	// lookTime is how long JetStream has to answer, before it is asked again: what
	// comes while there is no leader is not answered at all.
	lookTime = 2 * time.Second
	// saidEvery is how often the log says what is still waited for.
	saidEvery = 10 * time.Second
)

// founder is a node that sees to it that no stream is made anew in the cluster
// that a node brings.
type founder struct {
	server *Server
	conn   *Conn
	copies int
	log    *slog.Logger
	brings atomic.Bool
	note   bucket.Note     // that this node brings its data
	whole  map[string]bool // streams that the cluster has got from this node
	said   time.Time
}

// founding is what a node says of itself.
type founding struct {
	Node   string `json:"node"`
	Brings bool   `json:"brings"` // streams of the time when it was alone
	Copy   *held  `json:"copy,omitempty"`
}

// held is what a node has of the stream that it was asked for.
type held struct {
	Messages uint64 `json:"messages"`
	Last     uint64 `json:"last"` // sequence
}

// Found returns when the cluster has a quorum and may be worked with: its
// streams are there, or may be made. What this node kept when it was alone is
// copied into the cluster first, each stream to so many nodes; if another node
// has data of its own, or the cluster has, that is an error, and nothing is
// lost. A node that has begun to bring its data is waited for, also when it is
// away. Until then it waits, and says so in log, and in Trouble. Of a server that is alone it
// returns at once.
func (s *Server) Found(ctx context.Context, conn *Conn, copies int, log *slog.Logger) (stop func(), err error) {
	if s.node == "" {
		return func() {}, nil
	}
	f := &founder{server: s, conn: conn, copies: copies, log: log, whole: map[string]bool{}}
	f.brings.Store(exists(filepath.Join(s.dir, aloneFolder)))
	sub, err := conn.nc.Subscribe(foundingSubject, f.answer)
	if err != nil {
		return nil, fmt.Errorf("found the cluster: %w", err)
	}
	stop = func() { _ = sub.Unsubscribe() } // of a connection that is closed, it is gone
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
	body, _ := json.Marshal(said) // strings, numbers and a bool
	_ = msg.Respond(body)         // who hears nothing asks again
}

// wait tries until the cluster is founded.
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
			f.log.Warn("waiting for the cluster", "node", f.server.node, "because", waits)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(foundingPause):
		}
	}
}

// attempt reports whether the cluster is founded, and else what is waited for.
func (f *founder) attempt(ctx context.Context) (done bool, waits string, err error) {
	if trouble, quorum := f.server.Trouble(); !quorum {
		return false, trouble, nil
	}
	nodes, err := f.ask(ctx, "")
	if err != nil {
		return false, "the nodes do not answer each other: " + err.Error(), nil
	}
	brings := f.brings.Load()
	if i := slices.IndexFunc(nodes, func(n founding) bool { return n.Brings && n.Node != f.server.node }); i >= 0 {
		if brings {
			return false, "", fmt.Errorf("both this node and %s have data of the time when they were alone: one of them has to go, and is in %s",
				nodes[i].Node, filepath.Join(f.server.dir, aloneFolder))
		}
		return false, "node " + nodes[i].Node + " brings its data", nil
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
	waits = fmt.Sprintf("%d nodes are here, and %d copies are wanted", len(nodes), f.copies)
	return !brings && founded, waits, nil
}

// look says whether the cluster has streams, and its note. The streams are looked
// at first: a note comes before them, and goes after them.
func (f *founder) look(ctx context.Context) (founded bool, note bucket.Note, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	founded = f.conn.hasStreams(ctx)
	note, err = bucket.ReadNote(ctx, f.conn.js)
	return founded, note, err
}

// ask asks all nodes that are here, also for what they hold of the stream; empty: none.
func (f *founder) ask(ctx context.Context, stream string) (nodes []founding, err error) {
	inbox := f.conn.nc.NewInbox()
	sub, err := f.conn.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }() // of a connection that is closed, it is gone
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

// hasStreams reports whether the cluster was founded before: then its streams
// are there, whoever is away now.
func (c *Conn) hasStreams(ctx context.Context) bool {
	account, err := c.js.AccountInfo(ctx)
	return err == nil && account.Streams > 0
}
