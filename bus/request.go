package bus

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"cairn/schemas"
)

const (
	// A client retries a read after retryMissed periods of heartbeatInterval without a
	// heartbeat and then in each further one, since a worker that is cut off may receive the
	// retry too. maxMissed periods fail the request. Periods are counted, not measured, so that
	// a suspended client does not give up.
	retryMissed = 2
	maxMissed   = 10
	// maxRetries bounds the retries of one request without a heartbeat.
	maxRetries = 4
)

// inbox receives the replies to the requests of a connection. The request API of
// nats.go treats the first message as the reply; here it may be a heartbeat.
type inbox struct {
	once    sync.Once
	prefix  string // of the reply subjects
	failed  error
	mu      sync.Mutex
	next    uint64
	waiting map[string]chan *nats.Msg
}

// open returns a new reply subject and the channel of its messages. The caller
// ends it with forget.
func (b *inbox) open(nc *nats.Conn) (reply string, msgs chan *nats.Msg, err error) {
	b.once.Do(func() {
		b.prefix, b.waiting = nc.NewInbox()+".", map[string]chan *nats.Msg{}
		_, b.failed = nc.Subscribe(b.prefix+"*", b.dispatch)
	})
	if b.failed != nil {
		return "", nil, b.failed
	}
	msgs = make(chan *nats.Msg, 2+maxRetries)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next++
	name := strconv.FormatUint(b.next, 36)
	b.waiting[name] = msgs
	return b.prefix + name, msgs, nil
}

func (b *inbox) forget(reply string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waiting, strings.TrimPrefix(reply, b.prefix))
}

func (b *inbox) dispatch(msg *nats.Msg) {
	b.mu.Lock()
	msgs := b.waiting[strings.TrimPrefix(msg.Subject, b.prefix)]
	b.mu.Unlock()
	if msgs == nil || isHeartbeat(msg) && len(msgs) > 0 { // the channel has room for the replies of all attempts
		return
	}
	select {
	case msgs <- msg:
	default: // a worker that replies more than once
	}
}

// roundTrip sends the request and returns the reply of a worker. Without a heartbeat it
// retries a read, and the first reply wins. It does not retry a write: the first worker
// may still perform it, and a second worker would perform it twice.
func (c *Conn) roundTrip(ctx context.Context, request *nats.Msg, read bool) (*nats.Msg, error) {
	lost := c.lost()
	reply, msgs, err := c.inbox.open(c.nc)
	if err != nil {
		return nil, err
	}
	defer c.inbox.forget(reply)
	if lost.Err() != nil { // the connection that replaces it is not known yet
		return nil, nats.ErrDisconnected
	}
	request.Reply = reply
	request.Header.Set(HeaderHeartbeat, "1")
	received, err := c.reserve(ctx, len(request.Data))
	if err != nil {
		return nil, err
	}
	defer received()
	a := attempts{conn: c, request: request, read: read}
	if deadline, ok := ctx.Deadline(); ok && request.Header.Get(HeaderTimeout) != "" { // may be later than the first attempt
		request.Header.Set(HeaderTimeout, time.Until(deadline).String())
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
			if err := a.missHeartbeat(); err != nil {
				return nil, err
			}
		case msg := <-msgs:
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
	conn    *Conn
	request *nats.Msg
	read    bool // may be retried
	pending int  // copies without a reply
	retries int  // copies sent because heartbeats were missed
	busy    int  // copies sent because a worker was busy
	missed  int  // consecutive heartbeat intervals without a heartbeat
}

func (a *attempts) send() error {
	a.pending++
	return a.conn.nc.PublishMsg(a.request)
}

// missHeartbeat counts a heartbeat interval without a heartbeat and, if the request
// may be retried, sends it again.
func (a *attempts) missHeartbeat() error {
	if a.missed++; a.missed == maxMissed {
		return schemas.ErrUnavailable.Because("no heartbeat from a worker of " + a.request.Subject + "; a write may have been applied")
	}
	if !a.read || a.missed < retryMissed || a.retries == maxRetries || !a.conn.retries.take() {
		return nil
	}
	a.retries++
	return a.send()
}

// receive takes the reply to a copy. It returns nil if the reply of another copy is
// expected. A copy that a worker refused as busy is sent again, at most maxBusyRetries times.
func (a *attempts) receive(msg *nats.Msg) (final *nats.Msg, err error) {
	a.pending--
	switch {
	case isBusy(msg) && a.busy < maxBusyRetries:
		a.busy++
		return nil, a.send()
	case (isBusy(msg) || noResponders(msg)) && a.pending > 0:
		return nil, nil
	case noResponders(msg):
		return nil, nats.ErrNoResponders
	}
	a.conn.outages.subject(a.request.Subject).ended()
	if a.retries+a.busy == 0 {
		a.conn.retries.refill()
	}
	return msg, nil
}
