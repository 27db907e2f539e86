package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// foundingSubject is where nodes ask each other whether one has data of its own.
	foundingSubject = "cairn.cluster.founding"
	// foundingPause is how long answers are waited for, and what is between attempts.
	foundingPause = 300 * time.Millisecond
	// saidEvery is how often the log says what is waited for.
	saidEvery = 10 * time.Second
)

// errTwice says that a stream is there already that a node brings.
var errTwice = errors.New("the cluster has its own")

// founder is a node that sees to it that no stream is made anew in the cluster
// that a node brings.
type founder struct {
	server *Server
	conn   *Conn
	copies int
	log    *slog.Logger
	brings atomic.Bool
	said   time.Time
}

// founding is what a node says of itself.
type founding struct {
	Node   string `json:"node"`
	Brings bool   `json:"brings"` // streams of the time when it was alone
}

// Found returns when the cluster has a quorum and may be worked with: its
// streams are there, or may be made. What this node kept when it was alone is
// copied into the cluster first, each stream to so many nodes; if another node
// has data of its own, or the cluster has, that is an error, and nothing is
// lost. Until then it waits, and says so in log. Of a server that is alone it
// returns at once.
func (s *Server) Found(ctx context.Context, conn *Conn, copies int, log *slog.Logger) (stop func(), err error) {
	if s.node == "" {
		return func() {}, nil
	}
	f := &founder{server: s, conn: conn, copies: copies, log: log}
	f.brings.Store(exists(filepath.Join(s.dir, aloneFolder)))
	sub, err := conn.nc.Subscribe(foundingSubject, f.answer)
	if err != nil {
		return nil, fmt.Errorf("found the cluster: %w", err)
	}
	stop = func() { _ = sub.Unsubscribe() } // of a connection that is closed, it is gone
	if err := f.wait(ctx); err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

func (f *founder) answer(msg *nats.Msg) {
	body, _ := json.Marshal(founding{f.server.node, f.brings.Load()}) // a string and a bool
	_ = msg.Respond(body)                                             // who hears nothing asks again
}

// wait tries until the cluster is founded.
func (f *founder) wait(ctx context.Context) error {
	for {
		done, waits, err := f.attempt(ctx)
		if done || err != nil {
			return err
		}
		if time.Since(f.said) > saidEvery {
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
	nodes, err := f.ask(ctx)
	if err != nil {
		return false, "the nodes do not answer each other: " + err.Error(), nil
	}
	if i := slices.IndexFunc(nodes, func(n founding) bool { return n.Brings && n.Node != f.server.node }); i >= 0 {
		if f.brings.Load() {
			return false, "", fmt.Errorf("both this node and %s have data of the time when they were alone: one of them has to go, and is in %s",
				nodes[i].Node, filepath.Join(f.server.dir, aloneFolder))
		}
		return false, "node " + nodes[i].Node + " brings its data", nil
	}
	if len(nodes) >= f.copies {
		if f.brings.Load() {
			return f.bring(ctx)
		}
		return true, "", nil
	}
	waits = fmt.Sprintf("%d nodes are here, and %d copies are wanted", len(nodes), f.copies)
	return !f.brings.Load() && f.conn.hasStreams(ctx), waits, nil
}

// ask asks all nodes that are here.
func (f *founder) ask(ctx context.Context) (nodes []founding, err error) {
	inbox := f.conn.nc.NewInbox()
	sub, err := f.conn.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }() // of a connection that is closed, it is gone
	if err := f.conn.nc.PublishRequest(foundingSubject, inbox, nil); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, foundingPause)
	defer cancel()
	for len(nodes) < f.copies {
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

// bring copies what the node kept when it was alone into the cluster.
func (f *founder) bring(ctx context.Context) (done bool, waits string, err error) {
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
	names := from.js.StreamNames(ctx)
	for name := range names.Name() {
		switch err := f.bringStream(ctx, from, folder, name); {
		case errors.Is(err, errTwice):
			return false, "", err
		case err != nil:
			return false, err.Error(), nil
		}
	}
	if err := names.Err(); err != nil {
		return false, "", fmt.Errorf("list the streams in %s: %w", folder, err)
	}
	kept := filepath.Join(f.server.dir, broughtFolder)
	if err := renameDurably(folder, kept); err != nil {
		return false, "", fmt.Errorf("put the data aside: %w", err)
	}
	f.brings.Store(false)
	f.log.Info("the cluster has the data of this node; what was copied may be deleted", "node", f.server.node, "folder", kept)
	return true, "", nil
}

// bringStream copies one stream, unless that is done. A mark says that it is.
func (f *founder) bringStream(ctx context.Context, from *Conn, folder, name string) error {
	mark := filepath.Join(folder, name+".brought")
	if exists(mark) {
		return nil
	}
	_, err := f.conn.js.Stream(ctx, name)
	if err == nil {
		return fmt.Errorf("%w: stream %s, and this node brings one, in %s; one of them has to go", errTwice, name, folder)
	}
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("look for stream %s: %w", name, err)
	}
	f.log.Info("the cluster gets a stream of this node", "node", f.server.node, "stream", name, "copies", f.copies)
	err = copyStream(ctx, from, f.conn, name, func(c *jetstream.StreamConfig) {
		c.Replicas = f.copies
		c.PersistMode = jetstream.DefaultPersistMode // a server takes no other for several copies
	})
	if err != nil {
		return err
	}
	if err := f.copied(ctx, name); err != nil {
		return err
	}
	return wrap("mark a stream", writeDurably(mark, nil))
}

// copied waits until every copy of the stream is there: until then it would go
// with this node.
func (f *founder) copied(ctx context.Context, name string) error {
	for {
		s, err := f.conn.js.Stream(ctx, name)
		if err == nil && current(s.CachedInfo().Cluster) == f.copies {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(foundingPause):
		}
	}
}

// current is how many copies have all there is.
func current(c *jetstream.ClusterInfo) int {
	if c == nil || c.Leader == "" {
		return 0
	}
	count := 1
	for _, peer := range c.Replicas {
		if peer.Current && !peer.Offline && peer.Lag == 0 {
			count++
		}
	}
	return count
}
