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

// reserve waits until outboundBytes permit a message of n bytes, of which each tenant gets a
// share. release returns the bytes; further calls of it have no effect.
func (q *requests) reserve(ctx context.Context, n int) (release func(), err error) {
	if n < largeMessage {
		return func() {}, nil
	}
	size, tenant := min(int64(n), outboundBytes), AdmissionKey(Identity(ctx), nil)
	if err := q.outbound.Wait(ctx, tenant, size); err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() { q.outbound.Release(tenant, size) }), nil
}

// roundTrip sends the request and returns the reply of a worker. When heartbeats are missed, it
// hedges a read, or retries a write that is stored once: it sends another copy and returns the first reply.
func (q *requests) roundTrip(ctx context.Context, request *nats.Msg, read bool) (*nats.Msg, error) {
	lost := q.connContext()
	a := attempts{requests: q, request: request, read: read}
	a.reply, a.msgs = q.open()
	defer func() { q.forget(a.reply) }()
	if lost.Err() != nil { // the client has not recorded the reconnect yet
		return nil, nats.ErrDisconnected
	}
	resent := request.Reply != "" // an earlier attempt has set it
	request.Reply = a.reply
	request.Header.Set(HeaderHeartbeat, "1")
	received, err := q.reserve(ctx, len(request.Data))
	if err != nil {
		return nil, err
	}
	defer received()
	if resent || request.Header.Get(HeaderTimeout) != "" {
		setTimeout(ctx, request)
	}
	if err := a.send(); err != nil {
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
				received()
				a.missed = 0
				timeout.Reset(heartbeatInterval)
				continue
			}
			if final, err := a.receive(msg); final != nil || err != nil {
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
}

func (a *attempts) send() error {
	a.pending++
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
	if !a.read { // an earlier copy may be delayed, but is not performed after the deadline
		setTimeout(ctx, a.request)
	}
	a.retries++
	return a.send()
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

// setTimeout sets the timeout of the request to the rest of that of ctx.
func setTimeout(ctx context.Context, request *nats.Msg) {
	if deadline, ok := ctx.Deadline(); ok {
		request.Header.Set(HeaderTimeout, time.Until(deadline).String())
	}
}

// receive handles the reply to a copy. It returns nil while the reply to another copy is
// expected. It retries a copy that a busy worker refused, at most maxBusyRetries times.
func (a *attempts) receive(msg *nats.Msg) (final *nats.Msg, err error) {
	a.pending--
	switch {
	case isBusy(msg) && a.busy < maxBusyRetries:
		a.busy++
		return nil, a.send()
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
