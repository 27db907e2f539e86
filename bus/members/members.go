// Package members lists the nodes of a NATS cluster and removes those that are
// permanently lost. It needs a connection to the system account.
//
// A node that stops stays a member: it counts for the quorum, and remains assigned
// to its replicas of streams, until it is removed. A node that joins is assigned the
// replicas that have no node (nats-server, processRemovePeer and processAddPeer).
package members

import (
	"cmp"
	"context"
	"encoding/json" // as nats-server, which encodes durations as numbers
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/natsext"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/bus/retry"
)

const (
	pollInterval  = 250 * time.Millisecond // of Remove, for the streams
	replyTimeout  = time.Second            // for the replies of all servers
	removeTimeout = 10 * time.Second       // for the reply of the leader
)

// Reasons why a node is not removed.
var (
	ErrUnknown  = errors.New("is not a member of the cluster")
	ErrOnline   = errors.New("is online: stop it first")
	ErrNoLeader = errors.New(
		"no reply: there is no cluster, it has no quorum, or the NATS user is not in the system account")
	ErrRefused = errors.New("the NATS user is not in the system account")
)

// Status is the state of a cluster.
type Status struct {
	Cluster  string   `json:"cluster"`
	Nodes    []Node   `json:"nodes"`              // by name
	Streams  []Stream `json:"streams"`            // by account and name
	Degraded []string `json:"degraded,omitempty"` // problems of the nodes and streams
}

// Node is a member of the cluster.
type Node struct {
	Name   string `json:"name"` // or its peer, if no server has seen it since the start of the leader
	Peer   string `json:"peer"` // ID
	Leader bool   `json:"leader,omitempty"`
	Online bool   `json:"online"`
}

// Stream is a stream and the nodes that hold it.
type Stream struct {
	Account  string   `json:"account"`
	Name     string   `json:"name"`
	Replicas int      `json:"replicas"`        // configured number
	Leader   string   `json:"leader"`          // empty: none
	Peers    []string `json:"peers,omitempty"` // names of the other nodes, as the leader knows them
}

// Read returns the state of the cluster. It returns ErrNoLeader without a quorum.
func Read(ctx context.Context, conn *bus.Conn) (Status, error) {
	replies, err := request(ctx, conn, server.JSzOptions{LeaderOnly: true}, 1)
	if err != nil {
		return Status{}, err
	}
	if len(replies) == 0 || replies[0].Data.Meta == nil || replies[0].Data.Meta.Leader == "" {
		return Status{}, ErrNoLeader
	}
	meta := replies[0].Data.Meta
	s := Status{Cluster: meta.Name, Nodes: []Node{{meta.Leader, meta.Peer, true, true}}}
	replies, err = request(ctx, conn, server.JSzOptions{Accounts: true, Streams: true, Config: true}, 1+len(meta.Replicas))
	if err != nil {
		return Status{}, err
	}
	for _, p := range meta.Replicas {
		replied := slices.ContainsFunc(replies, func(r reply) bool { return r.Server.Name == p.Name })
		active := !p.Offline && p.Active > 0 && p.Active < bucket.LostAfter // 0: not since the election of the leader
		s.Nodes = append(s.Nodes, Node{cmp.Or(p.Name, p.Peer), p.Peer, false, replied || active})
		switch {
		case !replied && active:
			s.Degraded = append(s.Degraded, "node "+p.Name+" does not reply")
		case !replied:
			s.Degraded = append(s.Degraded, "node "+cmp.Or(p.Name, p.Peer)+" is offline")
		}
	}
	slices.SortFunc(s.Nodes, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	s.addStreams(replies)
	slices.SortFunc(s.Streams, func(a, b Stream) int {
		return cmp.Or(strings.Compare(a.Account, b.Account), strings.Compare(a.Name, b.Name))
	})
	slices.Sort(s.Degraded)
	return s, nil
}

// addStreams adds the streams, each as its leader reports it.
func (s *Status) addStreams(replies []reply) {
	for _, r := range replies {
		for _, account := range r.Data.Accounts {
			for _, info := range account.Streams {
				s.addStream(account.Name, r.Server.Name, info)
			}
		}
	}
	for _, row := range s.Streams {
		if row.Leader == "" {
			s.Degraded = append(s.Degraded, "stream "+row.Name+" has no leader")
		}
	}
}

func (s *Status) addStream(account, node string, info jetstream.StreamInfo) {
	i := slices.IndexFunc(s.Streams, func(row Stream) bool {
		return row.Account == account && row.Name == info.Config.Name
	})
	if i < 0 {
		i = len(s.Streams)
		s.Streams = append(s.Streams, Stream{Account: account, Name: info.Config.Name, Replicas: info.Config.Replicas})
	}
	if info.Cluster == nil || info.Cluster.Leader != node {
		return
	}
	s.Streams[i].Leader = node
	for _, p := range info.Cluster.Replicas {
		s.Streams[i].Peers = append(s.Streams[i].Peers, p.Name)
	}
	slices.Sort(s.Streams[i].Peers)
	s.Degraded = append(s.Degraded, bucket.ReplicaProblems(&info)...)
}

// reply is the reply of a server to a query for its JetStream.
type reply struct {
	Server struct {
		Name string `json:"name"`
	} `json:"server"`
	Data struct {
		Meta     *server.MetaClusterInfo `json:"meta_cluster"`
		Accounts []struct {
			Name    string                 `json:"name"`
			Streams []jetstream.StreamInfo `json:"stream_detail"`
		} `json:"account_details"`
	} `json:"data"`
}

// request returns the replies of the servers. It waits for enough replies, at most replyTimeout.
func request(ctx context.Context, conn *bus.Conn, about server.JSzOptions, enough int) (list []reply, err error) {
	body, _ := json.Marshal(about) // strings, numbers and booleans can be encoded
	ctx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	replies, err := natsext.RequestMany(ctx, conn.JetStream().Conn(), "$SYS.REQ.SERVER.PING.JSZ", body,
		natsext.RequestManyMaxMessages(enough))
	if err != nil {
		return nil, err
	}
	for msg, err := range replies {
		var r reply
		switch {
		case errors.Is(err, nats.ErrNoResponders):
			return nil, ErrRefused
		case err != nil:
			return nil, err
		}
		if err := json.Unmarshal(msg.Data, &r); err != nil {
			return nil, fmt.Errorf("read the state of a server: %w", err)
		}
		list = append(list, r)
	}
	return list, nil
}

// Remove removes an offline node, given its name or peer, from the cluster and from its
// streams, and returns when no stream lists it. If the node starts again, its JetStream
// is disabled. progress, unless nil, is called with the number of streams that were moved from the
// node, and with their total.
func Remove(ctx context.Context, conn *bus.Conn, node string, progress func(done, total int)) error {
	s, err := Read(ctx, conn)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(s.Nodes, func(n Node) bool { return n.Name == node || n.Peer == node })
	switch {
	case i < 0:
		return fmt.Errorf("node %s %w", node, ErrUnknown)
	case s.Nodes[i].Online:
		return fmt.Errorf("node %s %w", node, ErrOnline)
	}
	lost := s.Nodes[i]
	total := s.on(lost)
	if err := remove(ctx, conn, lost.Peer); err != nil {
		return fmt.Errorf("remove node %s: %w", node, err)
	}
	for {
		now, err := Read(ctx, conn)
		left := now.on(lost)
		if err == nil && progress != nil {
			progress(max(0, total-left), total)
		}
		if err == nil && left == 0 {
			return nil
		}
		if ended := retry.Sleep(ctx, pollInterval); ended != nil {
			return errors.Join(ended, err)
		}
	}
}

// on returns the number of streams that list the node. If the leader of a stream does not know the
// name of a node, it reports a sentence that contains the ID (nats-server, clusterInfo).
func (s Status) on(node Node) (n int) {
	for _, stream := range s.Streams {
		if slices.ContainsFunc(stream.Peers,
			func(peer string) bool { return peer == node.Name || strings.Contains(peer, node.Peer) }) {
			n++
		}
	}
	return n
}

// remove removes the peer from the meta group, whose leader then replaces it in the
// group of each stream.
func remove(ctx context.Context, conn *bus.Conn, peer string) error {
	ctx, cancel := context.WithTimeout(ctx, removeTimeout)
	defer cancel()
	body, _ := json.Marshal(server.JSApiMetaServerRemoveRequest{Peer: peer}) // strings can be encoded
	reply, err := conn.JetStream().Conn().RequestWithContext(ctx, server.JSApiRemoveServer, body)
	if errors.Is(err, context.DeadlineExceeded) {
		return ErrNoLeader
	}
	if err != nil {
		return err
	}
	var answer server.JSApiMetaServerRemoveResponse
	if err := json.Unmarshal(reply.Data, &answer); err != nil || answer.Error == nil {
		return err
	}
	return errors.New(answer.Error.Description)
}
