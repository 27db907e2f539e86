package bus

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/admission"
	"cairn/bus/retry"
	"cairn/schemas"
)

const (
	// A client hedges a read after retryMissed periods of heartbeatInterval without a heartbeat,
	// and again after each further one, since a partitioned worker may receive the hedged request
	// too. It retries a write after each retryMissed periods, at most maxWriteRetries times, so that the
	// last copy has 1.5 s for a heartbeat. maxMissed periods fail the request. Periods are counted, not
	// measured, so that a suspended client does not fail its requests when it continues.
	retryMissed     = 2
	maxWriteRetries = 2
	maxMissed       = 10
	// maxRetries bounds the hedged requests of a read.
	maxRetries = 4
	// maxBusyRetries is the maximum number of retries of a request that a busy worker rejected.
	// Of two workers, the free one then receives it in 31 of 32 cases.
	maxBusyRetries = 5
	// outboundBytes bounds the large messages that a connection has sent to workers and that no
	// worker has confirmed, in bytes. A server closes the connection of a worker that has more than
	// max_pending (64 MiB by default) still to read, and all requests to that worker fail.
	outboundBytes = 32 << 20
	// largeMessage is the minimum size of the messages that outboundBytes bounds, in bytes. A write
	// of this size is not retried when heartbeats are missed: on a slow network it may take long to
	// reach its worker.
	largeMessage = 32 << 10
)

// requests sends the requests of a connection and receives their replies. The request API of
// nats.go treats the first message as the reply; here it may be a heartbeat.
type requests struct {
	nc       *nats.Conn // for control traffic, or for large bodies
	budget   *retry.Budget
	outages  *outages
	outbound *admission.Pool // bytes of unconfirmed large messages
	prefix   string          // prefix of the reply subjects

	mu            sync.Mutex
	next          uint64
	waiting       map[string]chan *nats.Msg
	connection    context.Context // canceled on disconnect; a new one per connection
	endConnection context.CancelFunc
}

// setConnected records whether the connection is established. The first call precedes the connection.
func (q *requests) setConnected(up bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case !up:
		q.endConnection()
	case q.connection == nil || q.connection.Err() != nil:
		q.connection, q.endConnection = context.WithCancel(context.Background())
	}
}

// connContext returns a context that ends when the current connection is lost.
func (q *requests) connContext() context.Context {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.connection
}

// open returns a new reply subject and the channel of its messages. The caller ends it with forget.
func (q *requests) open() (reply string, msgs chan *nats.Msg) {
	msgs = make(chan *nats.Msg, 2+maxRetries)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.next++
	name := strconv.FormatUint(q.next, 36)
	q.waiting[name] = msgs
	return q.prefix + name, msgs
}

func (q *requests) forget(reply string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.waiting, strings.TrimPrefix(reply, q.prefix))
}

func (q *requests) dispatch(msg *nats.Msg) {
	q.mu.Lock()
	msgs := q.waiting[strings.TrimPrefix(msg.Subject, q.prefix)]
	q.mu.Unlock()
	if msgs == nil || isHeartbeat(msg) && len(msgs) > 0 { // the channel has room for the replies of all attempts
		return
	}
	select {
	case msgs <- msg:
	default: // the worker has replied more than once
	}
}

// roundTrip sends the request and returns the reply of a worker. When heartbeats are missed, it
// hedges a read, or retries a write that is stored once: it sends another copy and returns the first reply.
func (q *requests) roundTrip(ctx context.Context, request *nats.Msg, read bool) (*nats.Msg, error) {
	lost := q.connContext()
	a := attempts{requests: q, request: request, read: read}
	a.reply, a.msgs = q.open()
	defer q.forget(a.reply)
	if lost.Err() != nil { // the client has not recorded the reconnect yet
		return nil, nats.ErrDisconnected
	}
	request.Reply = a.reply
	request.Header.Set(HeaderHeartbeat, "1")
	if err := a.reserve(ctx); err != nil {
		return nil, err
	}
	defer a.release()
	if err := a.send(ctx); err != nil {
		return nil, err
	}
	timeout := time.NewTimer(heartbeatInterval)
	defer timeout.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-lost.Done():
			return nil, errConnectionLost
		case <-timeout.C:
			timeout.Reset(heartbeatInterval)
			if err := a.missHeartbeat(ctx); err != nil {
				return nil, err
			}
		case msg := <-a.msgs:
			if isHeartbeat(msg) {
				a.release()
				a.missed = 0
				timeout.Reset(heartbeatInterval)
				continue
			}
			if final, err := a.receive(ctx, msg); final != nil || err != nil {
				return final, err
			}
		}
	}
}

// attempts are the copies of one request that were sent to workers.
type attempts struct {
	requests *requests
	request  *nats.Msg
	reply    string         // subject of the replies to all copies
	msgs     chan *nats.Msg // messages on reply
	read     bool           // may be hedged
	pending  int            // copies without a reply
	retries  int            // copies sent because heartbeats were missed
	busy     int            // copies sent because a worker was busy
	missed   int            // consecutive heartbeat intervals without a heartbeat
	tenant   string         // of reserved
	reserved int64          // bytes of the outbound limit; 0: none
}

// reserve waits until outboundBytes permit the request, of which each tenant gets a share.
func (a *attempts) reserve(ctx context.Context) error {
	if len(a.request.Data) < largeMessage {
		return nil
	}
	size := min(int64(len(a.request.Data)), outboundBytes)
	a.tenant = AdmissionKey(Identity(ctx), nil)
	if err := a.requests.outbound.Wait(ctx, a.tenant, size); err != nil {
		return err
	}
	a.reserved = size
	return nil
}

// release returns the reserved bytes, when a worker has received the request or the client gives up.
func (a *attempts) release() {
	if a.reserved > 0 {
		a.requests.outbound.Release(a.tenant, a.reserved)
		a.reserved = 0
	}
}

// send sends a copy, which no worker performs after the deadline.
func (a *attempts) send(ctx context.Context) error {
	a.pending++
	setTimeout(ctx, a.request)
	return a.requests.nc.PublishMsg(a.request)
}

// missHeartbeat counts an interval without a heartbeat, and sends another copy if that is permitted.
func (a *attempts) missHeartbeat(ctx context.Context) error {
	if a.missed++; a.missed == maxMissed {
		return schemas.ErrUnavailable.Because("no heartbeat from a worker of " + a.request.Subject +
			"; a write may have been applied")
	}
	if a.missed < retryMissed || !a.retryable() || !a.requests.budget.Take() {
		return nil
	}
	a.retries++
	return a.send(ctx)
}

// retryable reports whether a copy may be sent because heartbeats were missed.
func (a *attempts) retryable() bool {
	if a.read {
		return a.retries < maxRetries
	}
	small := len(a.request.Data) < largeMessage
	return a.missed%retryMissed == 0 && a.retries < maxWriteRetries && small && storedOnce(a.request)
}

// storedOnce reports whether the request is a write that workers store once, so that it may be sent again.
func storedOnce(request *nats.Msg) bool { return request.Header.Get(jetstream.MsgIDHeader) != "" }

// receive handles the reply to a copy. It returns nil while the reply to another copy is
// expected. It retries a copy that a busy worker refused, at most maxBusyRetries times.
func (a *attempts) receive(ctx context.Context, msg *nats.Msg) (final *nats.Msg, err error) {
	a.pending--
	switch {
	case isBusy(msg) && a.busy < maxBusyRetries:
		a.busy++
		return nil, a.send(ctx)
	case isBusy(msg) && a.pending > 0:
		return nil, nil
	case noResponders(msg): // also while copies are pending: their workers are lost
		return nil, nats.ErrNoResponders
	}
	a.requests.outages.subject(a.request.Subject).end()
	if a.retries+a.busy == 0 {
		a.requests.budget.Refill()
	}
	return msg, nil
}
