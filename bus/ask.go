package bus

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"cairn/schemas"
)

const (
	// signTime is how often a worker shows that it is at a request.
	signTime = 250 * time.Millisecond
	// quietTime is how long nothing may be heard of a request before another
	// worker is asked, if it may be, and quietTimes as often the end of waiting. It
	// is counted, not measured: a caller that stood still itself has missed nothing.
	quietTime  = 500 * time.Millisecond
	quietTimes = 5
	// again is how often a request is sent that nobody shows to be at, beside the first.
	again = quietTimes - 1
	// againBurst may be sent again at once, and then one for againEvery that were
	// answered: workers with too much to do are not given more.
	againBurst = 100
	againEvery = 5
)

// inbox takes the answers to the requests of a connection. One of nats.go would
// take the first message for the answer, which may be a sign of life.
type inbox struct {
	once    sync.Once
	prefix  string // of the reply subjects
	failed  error
	saved   atomic.Int64 // for requests that are sent again, in parts of one by againEvery
	mu      sync.Mutex
	next    uint64
	waiting map[string]chan *nats.Msg
}

// open is a reply subject, and what comes there until forget.
func (b *inbox) open(nc *nats.Conn) (reply string, msgs chan *nats.Msg, err error) {
	b.once.Do(func() {
		b.prefix, b.waiting = nc.NewInbox()+".", map[string]chan *nats.Msg{}
		_, b.failed = nc.Subscribe(b.prefix+"*", b.take)
	})
	if b.failed != nil {
		return "", nil, b.failed
	}
	msgs = make(chan *nats.Msg, 2+again)
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

func (b *inbox) take(msg *nats.Msg) {
	b.mu.Lock()
	msgs := b.waiting[strings.TrimPrefix(msg.Subject, b.prefix)]
	b.mu.Unlock()
	if msgs == nil || isSign(msg) && len(msgs) > 0 { // there is room for all answers
		return
	}
	select {
	case msgs <- msg:
	default: // of who answers more often than asked
	}
}

func isSign(msg *nats.Msg) bool { return msg.Header.Get(HeaderSign) != "" }

// save notes a request that was answered without being sent again.
func (b *inbox) save() {
	if n := b.saved.Load(); n < againBurst*againEvery {
		b.saved.CompareAndSwap(n, n+1) // one that is not counted does not matter
	}
}

// spend reports whether a request may be sent again.
func (b *inbox) spend() bool {
	if b.saved.Add(-againEvery) >= 0 {
		return true
	}
	b.saved.Add(againEvery)
	return false
}

// ask sends the request and waits for the answer of a worker, or for none to show
// that it is at it. A read is then sent again: whichever answers first does. What
// changes something is not: the one who was silent may do it late, and so once
// more.
func (c *Conn) ask(ctx context.Context, request *nats.Msg, read bool) (*nats.Msg, error) {
	reply, msgs, err := c.inbox.open(c.nc)
	if err != nil {
		return nil, err
	}
	defer c.inbox.forget(reply)
	request.Reply = reply
	request.Header.Set(HeaderSign, "1")
	if err := c.nc.PublishMsg(request); err != nil {
		return nil, err
	}
	quiet := time.NewTimer(quietTime)
	defer quiet.Stop()
	for sent, open, busy, silent := 0, 1, 0, 0; ; {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-quiet.C:
			quiet.Reset(quietTime)
			if silent++; silent == quietTimes {
				return nil, schemas.ErrUnavailable.Because("no worker of " + request.Subject + " shows that it is at it; a write may have been done")
			}
			if !read || sent == again || !c.inbox.spend() {
				continue
			}
			sent++
		case msg := <-msgs:
			switch {
			case isSign(msg):
				silent = 0
				quiet.Reset(quietTime)
				continue
			case full(msg) && busy < others:
				busy++
				open--
			case (full(msg) || noResponders(msg)) && open > 1:
				open--
				continue
			case noResponders(msg):
				return nil, nats.ErrNoResponders
			default:
				if sent+busy == 0 {
					c.inbox.save()
				}
				return msg, nil
			}
		}
		open++
		if err := c.nc.PublishMsg(request); err != nil {
			return nil, err
		}
	}
}

// signs shows a caller who wants it that a worker is at a request, until stop. To
// one in another account of NATS it cannot be shown: there the first message is
// the answer.
type signs struct {
	mu    sync.Mutex
	timer *time.Timer // nil: no more
}

func (s *Service) signs(header func(string) string, reply string) *signs {
	g := &signs{}
	if header(HeaderSign) == "" || strings.HasPrefix(reply, elsewhere) {
		return g
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.timer = time.AfterFunc(signTime, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.timer != nil {
			_ = s.conn.nc.PublishMsg(&nats.Msg{Subject: reply, Header: nats.Header{HeaderSign: {"1"}}}) // a caller that misses it notices
			g.timer.Reset(signTime)
		}
	})
	return g
}

func (g *signs) stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.timer != nil {
		g.timer.Stop()
		g.timer = nil
	}
}
