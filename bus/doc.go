// Package bus is typed request-reply and event streams on NATS subjects. Every subject is
// bound once to its request and reply (subjects.go); code outside of this package uses
// these values and no subject strings. It imports no package of this module but schemas
// and its own subpackages; natsserver, bustest, keys, members and backup import it.
//
// # Requests
//
// An [Endpoint] answers a request with one reply. While a worker handles a request it
// sends a heartbeat every 250 ms. A client retries a read that has missed a heartbeat,
// within the retry budget of its connection, and fails any request after 2.5 s without
// one. A write is retried only if a worker refused it as busy.
//
// # Streams
//
// A [Stream] answers a request with events, numbered from 1, the last of type done.
// Events go to the reply subject. Each message of the worker has its control subject
// as reply subject: there the client sends chunks of a large body, acknowledgements
// (flow control) and cancellation. The worker sends a heartbeat every 500 ms; if the
// reply subject has no subscriber, the server's no-responders status arrives on the
// control subject, and the worker knows that the client has disconnected.
//
// # Runs and replay
//
// A run is a stream with a name, whose events the worker also stores in the replay
// stream, a JetStream stream in memory: in batches, in order, each published until
// JetStream acknowledges it. So no event of a run is lost while a majority of the
// servers runs, for as long as the stream retains it: 2 minutes, and 128 MiB of all
// runs, which are divided among tenants at each worker. The handler runs when JetStream has acknowledged that the run has started, or
// after 2 s without an acknowledgement; so a run whose worker is lost at any time after its
// first event ends with an error instead of being unknown. Live events are sent over core NATS, without the latency of an acknowledgement;
// heartbeats contain the sequence of the last event, so that the listener, the client's
// side of a run, detects any that were lost. The listener is in one of these states:
//
//	Run, TryRun                               Resume
//	      │                                     │
//	      ▼                                     ▼
//	┌───────────┐  messages dropped      ┌─────────────┐ events missing: again,
//	│  waiting  │ ─────────────────────▶ │  replaying  │ at most maxReplays times
//	└─────┬─────┘                        └─┬─────────┬─┘
//	      │ first message        caught up │ ▲ gap,  │ caught up, and no worker
//	      ▼                                ▼ │ drop  │ has the run
//	┌────────────────────────────────────────┴─┐     │
//	│                   live                   │     │
//	└─────┬────────────────────────────────────┘     │
//	      │ done, error of the worker                │
//	      ▼                                          ▼
//	┌──────────────────────────────────────────────────┐
//	│                      ended                       │
//	└──────────────────────────────────────────────────┘
//
// In the state waiting a busy worker's refusal is answered by another request, and TryRun
// fails with [ErrUnclaimed] after 2 s. In the states live and replaying a lost connection,
// missing heartbeats, or a failed replay lead to replaying as soon as there is a
// connection; after the grace period without an event they end the stream, as they do in
// replaying after Resume until a worker or an event of the run is found. Before a replay the
// listener acknowledges the last event that it has, and the worker stores its buffered
// events before it replies; so all events up to the sequence of that reply are, or soon
// will be, in the replay stream. Events with a sequence that the listener has delivered
// are dropped.
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
// A stream that is not a run has no grace period; after Continue the grace period is
// unlimited. In state detached there is no flow control. If a client reads nothing for
// 10 s, the state becomes canceled, or after Continue detached. Cancel and the timeout
// lead to canceled from any state.
package bus
