package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/tmaxmax/go-sse"

	"cairn/schemas"
)

// Received is one event that a client received, or the end of its attempts.
type Received struct {
	Type     string
	Sequence uint64 // 0: not part of the run, as are errors of an edge
	Text     string // of a text_delta
}

// Analysis is an analysis as seen by its client, which resumes it until its end.
type Analysis struct {
	Client       int
	Began, Ended time.Duration // since the start of the workload
	Resumed      int           // number of resumptions
	Events       []Received
	Lost         bool   // no node knew the run at last, before its end
	NoneFollow   bool   // a resumption was answered with 204
	Problem      string // why the last response ended before the run
}

// Outcomes of an analysis.
const (
	Complete = "complete" // with the whole answer
	Stopped  = "stopped"  // by an error event
	Lost     = "lost"     // unknown to the cluster before its end
)

// errNoEnd is wrapped by the violation of a run that has no done event.
var errNoEnd = errors.New("no done event")

// sequenceLost is the sequence of the error event of a run whose worker was lost. It follows all
// others.
const sequenceLost = 1<<53 - 2

// Check returns the outcome of the run with the given answer, or the violation: an event is
// missing, was sent twice or has other content, or the run has no end.
func (r Analysis) Check(answer string) (outcome string, violation error) {
	var text strings.Builder
	last, failed, done := uint64(0), false, false
	for _, e := range r.Events {
		switch {
		case done:
			return "", fmt.Errorf("event %d, %s, after the end", e.Sequence, e.Type)
		case e.Sequence != 0 && e.Sequence <= last:
			return "", fmt.Errorf("event %d was sent again after event %d", e.Sequence, last)
		case e.Sequence > last+1 && (e.Sequence != sequenceLost || e.Type != "error"):
			return "", fmt.Errorf("event %d after event %d", e.Sequence, last)
		}
		last = max(last, e.Sequence)
		text.WriteString(e.Text)
		failed = failed || e.Type == "error"
		done = e.Type == "done"
	}
	switch {
	case !strings.HasPrefix(answer, text.String()):
		return "", fmt.Errorf("the text %q is not the beginning of the answer", text.String())
	case done && failed:
		return Stopped, nil
	case done && text.Len() < len(answer):
		return "", fmt.Errorf("the answer ends after %d of %d bytes", text.Len(), len(answer))
	case done:
		return Complete, nil
	case r.Lost:
		return Lost, nil
	case r.NoneFollow:
		return "", fmt.Errorf("%w: no event follows event %d", errNoEnd, last)
	default:
		return "", fmt.Errorf("%w after event %d; the last response: %s", errNoEnd, last, r.Problem)
	}
}

// last returns the sequence of the last event.
func (r *Analysis) last() (last uint64) {
	for _, e := range r.Events {
		last = max(last, e.Sequence)
	}
	return last
}

// receive appends the events of a response to r, and reports whether the run has ended.
// It disconnects early from some responses.
func (r *Analysis) receive(res *http.Response) (ended bool) {
	defer func() { _ = res.Body.Close() }()
	r.Problem = res.Status
	r.Lost = res.StatusCode == http.StatusNotFound
	switch res.StatusCode {
	case http.StatusOK:
	case http.StatusNoContent:
		r.NoneFollow = true
		return true
	case http.StatusGone: // its worker was lost
		r.Events = append(r.Events, Received{Type: schemas.EventError}, Received{Type: schemas.EventDone})
		return true
	default:
		body, _ := io.ReadAll(res.Body) // for the message only
		r.Problem += ", " + string(body)
		return false
	}
	limit := -1
	if rand.IntN(3) == 0 { // #nosec G404 -- load, not a secret
		limit = rand.IntN(answerWords) // #nosec G404 -- load, not a secret
	}
	for event, err := range sse.Read(res.Body, nil) {
		if err != nil {
			r.Problem += ", " + err.Error()
			return false
		}
		next, final := received(event, r.last())
		if next.Type == schemas.EventError && next.Sequence == 0 && !final { // of this edge: another one may have the events
			r.Problem += ", " + event.Data
			return false
		}
		r.Events = append(r.Events, next)
		if limit--; limit == 0 && next.Type != schemas.EventDone {
			return false
		}
	}
	return len(r.Events) > 0 && r.Events[len(r.Events)-1].Type == schemas.EventDone
}
