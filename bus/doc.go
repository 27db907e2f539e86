// Package bus is typed request-reply and event streams on NATS subjects. Every subject is
// bound once to its request and reply (subjects.go); code outside of this package uses
// these values and no subject strings. It imports no package of this module but schemas
// and its own subpackages; natsserver, bustest, keys, members and backup import it.
//
// # Requests
//
// An [Endpoint] answers a request with one reply. While a worker handles a request it
// sends a heartbeat every 250 ms; a client fails any request after 2.5 s without one. Bodies above
// 256 KiB are sent over a separate connection, over which a worker receives registrations too. A
// request is retried (package retry) when:
//
//	                                read                  write                 limit
//	a worker refused it as busy     yes                   yes                   5 times
//	2 heartbeats were missed        as a hedged request   if it is stored once  4 times, a write of less than 32 KiB
//	                                                                            twice; retry budget of the connection
//	it reached no worker            yes                   yes                   deadline of 15 s
//	the connection was lost later   yes                   if it is stored once  deadline of 15 s
//	a run was not confirmed in 2 s  as a new run (Start)                         twice, retry budget of the connection
//	a chunk reached no worker       yes                                         1 s
//	JetStream did not acknowledge   by the worker, with the same Nats-Msg-Id    deadline of the request
//	a reply was not sent            by the worker, when it has reconnected      deadline of the request
//
// A write of tags or records without a precondition is stored once: the client gives the request a
// Nats-Msg-Id, from which the worker derives the IDs of its messages, and the stream rejects duplicates
// for 2 minutes. Until its deadline, a copy that is delayed at another worker may still store a write that
// was refused after a retry, or repeat a delete that was retried. A worker that is suspended for longer than
// these 2 minutes may perform its copy afterwards.
//
// A request that reached no worker, because there are no responders or the connection is lost,
// waits. At most 256 requests of a connection wait, divided among tenants. Requests fail immediately in
// an outage of more than 30 s, or 1 s if the worker or the server was never reachable; a stream
// waits at most 2 s for a worker and 8 s for a connection. Health checks do not wait.
//
// A connection has at most 32 requests for each CPU in flight on a subject. The others wait in queues per
// tenant, and fail immediately when 1,024 of the subject are in flight or wait.
//
// queue.go admits a request, endpoint.go and request.go send it, outage.go retries it while no worker
// receives it, and responder.go answers it. session.go sends the events of a stream and listener.go receives them;
// stream.go has the methods of both sides. Package replay stores the events of runs and reads them
// when a run is resumed.
//
// # Streams
//
// A [Stream] answers a request with events, numbered from 1, the last of type done. Events go to the
// reply subject. Each message of the worker has its control subject as reply subject: there the
// client sends acknowledgements (flow control) and cancellation. A large body follows in chunks, on
// a separate subject and over a separate connection on each side. The worker grants each chunk from
// a budget of 16 MiB, less than what a server buffers for a connection. The worker sends a heartbeat
// every 500 ms; if the reply subject has no subscriber, the server's no-responders status arrives on
// the control subject, and the worker knows that the client has disconnected.
//
// # Runs and replay
//
// A run is a stream with a name, whose events the worker also stores in the replay
// stream (package replay). While a majority of the servers runs, no event of a run is lost before
// the stream removes it: after 2 minutes, or when the events of all runs exceed 128 MiB, of which
// each tenant has a share at each worker. The start of a run is stored without waiting once its
// request is valid; so a run whose worker is lost later ends with an error instead of being
// unknown. The error of an invalid request is not stored. Live events are sent over core NATS. Publishing each
// event to the replay stream and reading it with an ordered consumer
// raises the median latency of an event 1.7 times with 100 streams and 3.6 times with 500
// (edge/docs/benchmarks.md). Heartbeats contain the sequence of the last event, so that the
// listener, the client's side of a run, detects lost events. The listener is in one of these states:
//
//	Run, Start                                Resume
//	      │                                     │
//	      ▼                                     ▼
//	┌───────────┐  messages dropped      ┌─────────────┐ retry: events missing
//	│  waiting  │ ─────────────────────▶ │  replaying  │ or no worker
//	└─────┬─────┘                        └─┬────┬────┬─┘
//	      │ first message        caught up │ ▲  │    │ no heartbeat for 6 s
//	      ▼                                ▼ │  │    ▼
//	┌────────────────────────────────────────┴┐ │ ┌───────────┐
//	│                  live                   │ │ │   lost    │
//	└─────┬───────────────────────────────────┘ │ └──┬────────┘
//	      │ done, error from the worker    done │    │ error, done
//	      ▼                                     ▼    ▼
//	┌──────────────────────────────────────────────────┐
//	│                      ended                       │
//	└──────────────────────────────────────────────────┘
//
// In the state waiting, the listener retries a request that a busy worker has refused, and after 2 s
// Start retries the run as a new one. In the states live and replaying, a lost connection, missing
// heartbeats, or a failed replay lead to replaying as soon as there is a connection. After the grace
// period without an event they end the stream with [ErrInterrupted]: the run may continue at its
// worker, and the client can resume it. A run ends only with done, an error from the worker, or in
// the state lost, in which every client receives an error and a done event with the sequences 2^53-2
// and 2^53-1. Before a replay the listener acknowledges its last event, and the worker stores its
// buffered events before it replies; so all events up to the sequence of that reply are, or soon
// will be, in the replay stream. The listener drops events that it has already delivered.
//
// The session, the worker's side, is in one of these states:
//
//	            no responders
//	┌──────────┐ ───────────▶ ┌──────────┐ grace period   ┌──────────┐
//	│ attached │              │ detached │ ─────────────▶ │ canceled │
//	└────┬─────┘ ◀─────────── └────┬─────┘                └────┬─────┘
//	     │      acknowledgement    │                           │
//	     └────────┬────────────────┘                           │
//	              ▼ handler returns                            ▼
//	            done                                     error, then done
//
// A stream that is not a run has no grace period; after Persist the grace period is unlimited. In
// state detached there is no flow control. If a client reads nothing for 10 s, the state becomes
// canceled, or after Persist detached. Cancel and the timeout lead to canceled from any state. A
// listener cancels its stream when it is closed before done, unless the stream is a run whose worker
// has replied; and an edge cancels a run whose client disconnects before the response has begun.
package bus
