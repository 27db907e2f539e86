// Package members lists the nodes of a NATS cluster and removes those that are
// permanently lost. It needs a connection to the system account.
//
// A node that stops stays a member: it counts for the quorum, and remains assigned
// to its replicas of streams, until it is removed. A node that joins is assigned the
// replicas that have no node (nats-server, processRemovePeer and processAddPeer).
package members
