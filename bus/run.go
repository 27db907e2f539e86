package bus

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"

	"cairn/schemas"
)

// A run is a stream that outlives the caller's connection. It has subjects of
// its own:
//
//	cairn.analyze.<run>         to the worker: how far the caller has read, cancel, chunks of the body
//	cairn.analyze.<run>.event   the events as they come: the reply subject of the request
//	cairn.analyze.<run>.kept    the same, several in a message, which JetStream keeps in memory for a while
//
// A caller that only has an inbox has no run.
const (
	eventToken = ".event"
	keptToken  = ".kept"
)

// runName is a name of a run that may be part of a subject.
var runName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// ErrNoRun is schemas.ErrRunNotFound for a run of which nothing is kept.
var ErrNoRun = schemas.ErrRunNotFound.Because("it never began, or ended too long ago")

// ErrUnheard is the error of a run of which no worker soon shows that it has it.
// It may be asked again under another name.
var ErrUnheard = errors.New("no worker shows that it has the request")

// errUnheard is ErrUnheard for callers.
var errUnheard = fmt.Errorf("%w: %w", ErrUnheard, schemas.ErrUnavailable.Because("no worker shows that it has the request"))

// NewRun names a run; nobody can guess it.
func NewRun() string { return rand.Text() }

// Run is Forward for a run of the name. Leaving the loop does not cancel the
// worker: it goes on for the stream's Grace, in which Resume may come back.
func (s Stream[Req]) Run(ctx context.Context, c *Conn, run string, body []byte) iter.Seq2[Event, error] {
	return s.follow(func() (*listener, error) { return s.listen(ctx, c, body, s.control(run)+eventToken, false) })
}

// TryRun is Run that soon gives up with ErrUnheard, unless workers have too much
// to do to be asked again.
func (s Stream[Req]) TryRun(ctx context.Context, c *Conn, run string, body []byte) iter.Seq2[Event, error] {
	return s.follow(func() (*listener, error) { return s.listen(ctx, c, body, s.control(run)+eventToken, true) })
}

// Resume yields the events of the run that follow the one with the sequence
// after, as Forward does: those that are kept, and then those that come.
// Nothing follows when the caller has the last one. A run that is over, and of
// which nothing is kept, is schemas.ErrRunNotFound.
func (s Stream[Req]) Resume(ctx context.Context, c *Conn, run string, after uint64) iter.Seq2[Event, error] {
	return s.follow(func() (*listener, error) { return s.attach(ctx, c, run, after) })
}

// Stop ends the run, for all who listen to it. One that is over, or never was,
// is no error.
func (s Stream[Req]) Stop(ctx context.Context, c *Conn, run string) error {
	if !runName.MatchString(run) {
		return nil
	}
	if _, _, err := c.speak(ctx, s.control(run), HeaderCancel, "1"); err != nil {
		return s.say(err)
	}
	return nil
}

// speak tells who works at a run a header, and gives the sequence of its last
// event; heard is whether anybody is at it.
func (c *Conn) speak(ctx context.Context, control, header, value string) (last uint64, heard bool, err error) {
	if !c.Connected() {
		return 0, false, schemas.ErrUnavailable.Because("NATS is away")
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	msg := nats.NewMsg(control)
	msg.Header.Set(header, value)
	reply, err := c.nc.RequestMsgWithContext(ctx, msg)
	if errors.Is(err, nats.ErrNoResponders) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, transportError(control, err)
	}
	last, err = strconv.ParseUint(string(reply.Data), 10, 64)
	return last, true, err
}

// control is the subject on which the run is spoken to.
func (s Stream[Req]) control(run string) string { return s.Subject + "." + run }

// runOf is the subject on which the run is spoken to whose events go to reply;
// false for a caller that only has an inbox.
func (s Stream[Req]) runOf(reply string) (control string, ok bool) {
	control, ok = strings.CutSuffix(reply, eventToken)
	run, ours := strings.CutPrefix(control, s.Subject+".")
	return control, ok && ours && runName.MatchString(run)
}
