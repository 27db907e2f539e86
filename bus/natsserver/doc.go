// Package natsserver runs a NATS server with JetStream in this process, stand-alone or as
// a node of a cluster, with the same limits and, if configured, a secret and TLS.
//
// A data directory belongs to a stand-alone server or to one node: its name is stored there
// and cannot be changed, and a directory of the other type is refused, since a node deletes
// the streams that its cluster does not know. Moving stand-alone data to a cluster is a
// backup and its restoration.
//
// # Cluster formation
//
// Each node connects routes to the others. A node is in one of these states, which
// [Server.Problem] describes; JetStream responds only in the last two:
//
//	┌─────────┐ meta group exists  ┌───────────┐ majority connected ┌──────────┐
//	│ forming │ ─────────────────▶ │ no quorum │ ─────────────────▶ │ electing │
//	└─────────┘                    └───────────┘ ◀───────────────── └────┬─────┘
//	                                 ▲           majority lost           │ leader elected
//	                                 │                                   ▼
//	                                 │                             ┌──────────┐
//	                                 ├──────────────────────────── │ degraded │
//	                                 │       majority lost         └──┬────▲──┘
//	                                 │                  all connected │    │ node lost
//	                                 │                             ┌──▼────┴──┐
//	                                 └──────────────────────────── │ complete │
//	                                                               └──────────┘
//
// A node that is lost stays a member until it is removed (package members).
package natsserver
