// Package bus is typed request-reply and event streams on NATS subjects, and the
// embedded NATS server. Every subject is bound once to its request and reply
// (subjects.go); code outside of this package uses these values and no subject
// strings. It imports no package of this module but schemas and its own subpackages.
//
// # Requests
//
// An [Endpoint] answers a request with one reply. While a worker handles a request it
// sends a heartbeat every 250 ms. A client retries a read that has missed a heartbeat,
// within the retry budget of its connection, and fails any request after 2.5 s without
// one. A write is sent again only to replace a worker that refused it as busy.
//
// # Streams
//
// A [Stream] answers a request with events, numbered from 1, the last of type done.
// Events go to the reply subject. Each message of the worker names its control subject
// as reply subject: there the client sends chunks of a large body, acknowledgements
// (flow control) and cancellation. The worker sends a heartbeat every 500 ms; if the
// reply subject has no subscriber, the server's no-responders status arrives on the
// control subject, and the worker knows that the client has disconnected.
//
// # Runs and replay
//
// A run is a stream with a name, whose events the worker also publishes to the replay
// stream, a JetStream stream in memory. The listener, the client's side of a run, is in
// one of these states:
//
//	Run, TryRun                               Resume
//	      │                                     │
//	      ▼                                     ▼
//	┌───────────┐                        ┌─────────────┐ events missing: again,
//	│  waiting  │                        │  replaying  │ at most maxReplays times
//	└─────┬─────┘                        └─┬─────────┬─┘
//	      │ first message        caught up │ ▲ gap,  │ caught up, and no worker
//	      ▼                                ▼ │ drop  │ has the run
//	┌────────────────────────────────────────┴─┐     │
//	│                   live                   │     │
//	└─────┬────────────────────────────────────┘     │
//	      │ done, error, timeout                     │
//	      ▼                                          ▼
//	┌──────────────────────────────────────────────────┐
//	│                      closed                      │
//	└──────────────────────────────────────────────────┘
//
// TryRun leaves the state waiting after 2 s with [ErrUnclaimed]. Before a replay the
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
// A stream that is no run has no grace period, and one whose handler has called
// Continue has no end of it. In state detached there is no flow control. A client that
// reads nothing for 10 s leads to canceled, or after Continue to detached. Cancel and
// the timeout lead to canceled from any state.
package bus
