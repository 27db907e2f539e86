package bus

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"cairn/bus/bucket"
	"cairn/bus/replay"
	"cairn/schemas"
)

// A run is a stream that outlives the client's connection. It has subjects of
// its own:
//
//	cairn.analyze.<run>         control, to the worker: acknowledgements, cancel
//	cairn.analyze.<run>.body    to the worker: chunks of the body
//	cairn.analyze.<run>.event   live events: the reply subject of the request
//	cairn.analyze.<run>.replay  the same events in batches, retained by the replay stream
//
// A client with an inbox as reply subject has no run.
const (
	bodyToken   = ".body"
	eventToken  = ".event"
	replayToken = ".replay"
)

// runName matches the run names that are valid subject tokens.
var runName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// ErrNoRun is schemas.ErrRunNotFound for a run without stored events.
var ErrNoRun = schemas.ErrRunNotFound.Because("it does not exist, or its events have expired")

// ErrUnclaimed is the error of a run for which no worker sent a heartbeat in time. It
// may be retried under another name.
var ErrUnclaimed = errors.New("no worker has accepted the request")

// errUnclaimed is ErrUnclaimed with the error for callers.
var errUnclaimed = fmt.Errorf("%w: %w", ErrUnclaimed, schemas.ErrUnavailable.Because("no worker has accepted the request"))

// Run is like Forward, but starts a run with the given name. Leaving the loop does
// not cancel the worker: it continues for the stream's Grace, within which a client may
// Resume.
func (s Stream[Req]) Run(ctx context.Context, c *Conn, run string, body []byte) iter.Seq2[Event, error] {
	return s.follow(func() (*listener, error) { return s.listen(ctx, c, body, s.control(run)+eventToken, false) })
}

// TryRun is like Run, but fails with ErrUnclaimed if no worker sends a heartbeat within 2 s,
// unless the retry budget is exhausted.
func (s Stream[Req]) TryRun(ctx context.Context, c *Conn, run string, body []byte) iter.Seq2[Event, error] {
	return s.follow(func() (*listener, error) { return s.listen(ctx, c, body, s.control(run)+eventToken, true) })
}

// Resume yields the events of the run after the given sequence, as Forward does:
// stored ones first, then live ones. A run whose worker was lost ends with an error event and
// done. It yields nothing when the client has the last event. The error is
// schemas.ErrRunNotFound for a run that has ended and is not stored.
func (s Stream[Req]) Resume(ctx context.Context, c *Conn, run string, after uint64) iter.Seq2[Event, error] {
	return s.follow(func() (*listener, error) { return s.attach(ctx, c, run, after) })
}

// Snapshot yields the events that the run has sent until now, as Resume does, and does not
// wait for further ones. The error is schemas.ErrRunNotFound for a run that has ended and is
// not stored.
func (s Stream[Req]) Snapshot(ctx context.Context, c *Conn, run string) iter.Seq2[Event, error] {
	return s.follow(func() (*listener, error) {
		l, err := s.attach(ctx, c, run, 0)
		if err == nil {
			l.snapshot = true
		}
		return l, err
	})
}

// Cancel cancels the run for all clients that follow it. It returns nil for a run that
// has ended or does not exist.
func (s Stream[Req]) Cancel(ctx context.Context, c *Conn, run string) error {
	if !runName.MatchString(run) {
		return nil
	}
	if _, _, err := c.query(ctx, s.control(run), HeaderCancel, "1"); err != nil {
		return s.translate(err)
	}
	return nil
}

// query sends a header to the worker of a run and returns the sequence of its last
// event; found reports whether a worker has the run.
func (c *Conn) query(ctx context.Context, control, header, value string) (last uint64, found bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	msg := nats.NewMsg(control)
	msg.Header.Set(header, value)
	reply, err := c.attempt(ctx, msg)
	for unanswered(err) && ctx.Err() == nil && c.WaitConnected(ctx) == nil { // idempotent
		reply, err = c.attempt(ctx, msg)
	}
	if errors.Is(err, nats.ErrNoResponders) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, transportError(control, err)
	}
	last, err = strconv.ParseUint(string(reply.Data), 10, 64)
	return last, true, err
}

// queryTimeout bounds one attempt of a query: the connection of the worker may have been
// lost before the message arrived, and then the next attempt finds no responders.
const queryTimeout = time.Second

// attempt sends the request once.
func (c *Conn) attempt(ctx context.Context, msg *nats.Msg) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	return c.nc.RequestMsgWithContext(ctx, msg)
}

// unanswered reports whether err means that a request may be answered if it is sent again.
func unanswered(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || undelivered(err) && !errors.Is(err, nats.ErrNoResponders)
}

// control returns the control subject of the run.
func (s Stream[Req]) control(run string) string { return s.Subject + "." + run }

// runOf returns the control subject of the run whose event subject is reply; false if
// reply is not one.
func (s Stream[Req]) runOf(reply string) (control string, ok bool) {
	control, ok = strings.CutSuffix(reply, eventToken)
	run, ours := strings.CutPrefix(control, s.Subject+".")
	return control, ok && ours && runName.MatchString(run)
}

// Setup creates the replay stream, which retains the events of runs for Resume, or
// updates one that exists. It is in memory: a stand-alone server loses it on a restart,
// and until the next Setup no run can be resumed.
func (s Stream[Req]) Setup(ctx context.Context, c *Conn, replication bucket.Replication) error {
	return replay.Setup(ctx, c.js, s.ReplayStream(), s.control("*")+replayToken, replication)
}

// Bind waits until the replay stream exists or ctx ends, and then returns its error.
func (s Stream[Req]) Bind(ctx context.Context, c *Conn) error {
	if _, err := bucket.BindStream(ctx, c.js, s.ReplayStream()); err != nil {
		return fmt.Errorf("replay events of %s: %w", s.Subject, err)
	}
	return nil
}

// ReplayStream returns the name of the JetStream stream with the events of runs.
func (s Stream[Req]) ReplayStream() string { return strings.ReplaceAll(s.Subject, ".", "_") }
