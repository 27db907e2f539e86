package bus

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"cairn/schemas"
)

const (
	// recallTries is how often what is kept is read in search of an event that
	// must be there: JetStream stores it a moment after it was published.
	recallTries = 5
	// recallPause is between two such tries.
	recallPause = 20 * time.Millisecond
)

// errHeard says that the caller has all there is.
var errHeard = errors.New("the caller has the last event")

// reread has what is kept read before what comes. A worker that is at the run
// has all kept that it has said before it answers.
func (l *listener) reread() error {
	if l.tries++; l.tries > 1 {
		select {
		case <-time.After(recallPause):
		case <-l.ctx.Done():
		}
	}
	said, heard, err := l.conn.speak(l.ctx, l.kept.run, HeaderRead, strconv.FormatUint(l.last, 10))
	if heard && l.last > said {
		return schemas.ErrMalformed.Because(fmt.Sprintf("there is no event %d yet; the last is %d", l.last, said))
	}
	l.over, l.told = !heard, said
	l.reading = true
	l.kept.rewind()
	return err
}

// missed looks among what is kept for the events before e.
func (l *listener) missed(e Event) error {
	switch {
	case l.reading:
		return schemas.ErrRunNotFound.Because(fmt.Sprintf("events %d to %d are no longer kept", l.last+1, e.Sequence-1))
	case l.kept == nil || l.tries == recallTries:
		return schemas.ErrUnavailable.Because("events were lost on the way")
	}
	l.held = e
	return l.reread()
}

// ending is how a run ends for a caller who came when no worker was at it any
// more, and has read what is kept; nil when it is to be read again.
func (l *listener) ending() error {
	switch newest := l.kept.newest; {
	case l.kept.done, 0 < newest && newest < l.last:
		return errHeard
	case l.tries < recallTries: // its last events may be on their way into the store
		return l.reread()
	case newest == 0:
		return ErrNoRun
	default:
		return schemas.ErrRunStopped.Because("its worker is gone")
	}
}
