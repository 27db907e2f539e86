package members_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/bus/members"
	"cairn/bus/natsserver"
)

// dial opens a connection to the node as the user.
func dial(t *testing.T, node *natsserver.Server, user string) *bus.Conn {
	t.Helper()
	return bustest.DialURL(t, strings.Replace(node.URL(), "nats://", "nats://"+user+"@", 1))
}

// TestReplaceNode loses a node permanently, removes it and adds another; then the cluster
// tolerates the loss of one more.
func TestReplaceNode(t *testing.T) {
	t.Parallel()
	c := bustest.StartCluster(t)
	bustest.Until(t, "set up a bucket", func(ctx context.Context) error {
		_, err := bucket.Setup(ctx, c.Conns[0].JetStream(), "b", bucket.Replication{Replicas: 3},
			func(*jetstream.StreamConfig) {})
		return err
	})
	admin := dial(t, c.Nodes[0], natsserver.SystemUser)
	bustest.Until(t, "connect", admin.WaitConnected)
	write := func(conn *bus.Conn) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := conn.JetStream().Publish(ctx, bucket.SubjectPrefix+"b.k", nil)
			return err
		}
	}
	degraded := func(want ...string) func(context.Context) error {
		return func(ctx context.Context) error {
			s, err := members.Read(ctx, admin)
			if err == nil && !slices.Equal(s.Degraded, want) {
				err = fmt.Errorf("degraded %q, want %q; %+v", s.Degraded, want, s)
			}
			return err
		}
	}
	bustest.Until(t, "cluster is healthy", degraded())
	bustest.Until(t, "an online node is not removed", func(ctx context.Context) error {
		if err := members.Remove(ctx, admin, "b", nil); !errors.Is(err, members.ErrOnline) {
			return fmt.Errorf("want %v, got %w", members.ErrOnline.Error(), err)
		}
		return nil
	})

	var moved [2]int
	c.Nodes[2].Stop()
	bustest.Until(t, "node is reported offline",
		degraded("node c is offline", "stream KV_b: the replica on node c is offline"))
	bustest.Until(t, "remove the node by its peer ID", func(ctx context.Context) error {
		s, err := members.Read(ctx, admin)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(s.Nodes, func(n members.Node) bool { return n.Name == "c" })
		err = members.Remove(ctx, admin, s.Nodes[i].Peer, func(done, total int) { moved = [2]int{done, total} })
		if err != nil {
			return err
		}
		if s, err = members.Read(ctx, admin); err == nil && slices.Contains(s.Streams[0].Peers, "c") {
			t.Errorf("the removed node holds a replica: %+v", s.Streams)
		}
		return err
	})
	if moved != [2]int{1, 1} {
		t.Errorf("progress ended at %v, want 1 of 1 streams", moved)
	}
	bustest.Until(t, "replica is missing", degraded("stream KV_b has 2 of 3 replicas"))
	if err := members.Remove(t.Context(), admin, "c", nil); !errors.Is(err, members.ErrUnknown) {
		t.Errorf("remove it again: %v, want %v", err, members.ErrUnknown)
	}
	joined := c.Join(t)
	bustest.Until(t, "new node receives the replica", func(ctx context.Context) error {
		s, err := members.Read(ctx, admin)
		whole := len(s.Nodes) == 3 && len(s.Streams) == 1 &&
			slices.Contains(append(s.Streams[0].Peers, s.Streams[0].Leader), "d")
		if err == nil && (!whole || len(s.Degraded) > 0) {
			err = fmt.Errorf("%+v", s)
		}
		return err
	})
	for _, n := range []*natsserver.Server{c.Nodes[0], c.Nodes[1], c.Nodes[3]} {
		if problem, quorum := n.Problem(); problem != "" || !quorum {
			t.Errorf("node %s: %s, quorum %v", n.Node(), problem, quorum)
		}
	}

	c.Nodes[1].Stop()
	bustest.Until(t, "write without another node", write(c.Conns[0]))
	bustest.Until(t, "write through the new node", write(joined))
}

// TestSystemAccount checks that the system account is refused without the secret, and to
// other users.
func TestSystemAccount(t *testing.T) {
	t.Parallel()
	s, err := natsserver.Start(t.TempDir(), "127.0.0.1:0", natsserver.WithSecurity(natsserver.Security{Secret: "hush"}))
	bustest.Must(t, err)
	t.Cleanup(s.Stop)
	for user, want := range map[string]error{
		"hush": members.ErrRefused, "other:hush": members.ErrRefused, "system:hush": members.ErrNoLeader,
	} {
		conn := dial(t, s, user)
		bustest.Until(t, "connect", conn.WaitConnected)
		if _, err := members.Read(t.Context(), conn); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", user, err, want)
		}
	}
	conn := dial(t, s, "system:guess")
	brief, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if err := conn.WaitConnected(brief); err == nil {
		t.Error("a client without the secret is in the system account")
	}
}
