package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tmaxmax/go-sse"

	"cairn/bus"
	"cairn/schemas"
)

const (
	// silenceTimeout is the time without data after which a client resumes its run at
	// another node. An edge sends a comment every 10 s.
	silenceTimeout = 11 * time.Second
	// resumeTimeout is the time after its start within which a client resumes a run, by
	// default, and the timeout of a response.
	resumeTimeout = time.Minute
)

// analysis is the body of the request for a run.
const analysis = `{"query":"which words?","target":"H","context":"{\"hosts\":[{\"name\":\"a\"}]}","on_disconnect":"continue"}`

// analyze starts runs until ctx ends, and follows each to its end.
func (w *workload) analyze(ctx context.Context, client int) {
	text := answer()
	for ctx.Err() == nil {
		at := w.since()
		res, err := w.openStream(ctx, client, http.MethodPost, "", 0) //nolint:bodyclose // receive closes it
		if err == nil && res.StatusCode == http.StatusOK {
			r := w.follow(ctx, res, Analysis{Client: client, Began: at})
			w.mu.Lock()
			w.analyses = append(w.analyses, r)
			w.mu.Unlock()
			outcome, err := r.Check(text)
			switch {
			case err != nil:
				outcome = err.Error()
			case outcome == Complete:
				outcome = ""
			}
			w.noteAnalysis(client, at, outcome)
			continue
		}
		problem := "no response"
		if err == nil {
			problem = strconv.Itoa(res.StatusCode)
			_ = res.Body.Close()
		}
		if !notConnected(err) {
			w.noteAnalysis(client, at, problem)
		}
		sleep(ctx, failureInterval)
	}
}

// noteAnalysis counts a run, which has failed unless problem is empty, and adds a sample.
func (w *workload) noteAnalysis(client int, at time.Duration, problem string) {
	failed := ""
	if problem != "" {
		failed = "analysis: " + problem
	}
	w.count(failed, nil)
	w.note(Analyzed, client, at, failed != "")
}

// follow receives the events of a run, and resumes it at the next node whenever the
// response ends early, or the node does not know the run: one that began at a partitioned
// node is known to the others when the partition has healed. It sees each run to its end,
// also after that of ctx.
func (w *workload) follow(ctx context.Context, res *http.Response, r Analysis) Analysis {
	run := "/" + res.Header.Get(bus.HeaderRun)
	ended := r.receive(res)
	for node := r.Client + 1; !ended && w.since() < r.Began+w.resume; node++ {
		res, err := w.openStream(ctx, node, http.MethodGet, run, r.last()) //nolint:bodyclose // receive closes it
		if err == nil {
			r.Resumed++
			ended = r.receive(res)
		} else {
			r.Problem = err.Error()
		}
		if err != nil || res.StatusCode != http.StatusOK {
			sleep(context.WithoutCancel(ctx), failureInterval)
		}
	}
	r.Ended = w.since()
	return r
}

// openStream sends the request for a run, or to resume one after the event.
func (w *workload) openStream(ctx context.Context, client int, method, run string, after uint64) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resumeTimeout)
	var body io.Reader
	if method == http.MethodPost {
		body = strings.NewReader(analysis)
	}
	req, err := http.NewRequestWithContext(ctx, method, base(w.cluster, client)+"/api/v1/analyze"+run, body)
	if err != nil {
		cancel()
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if after > 0 {
		req.Header.Set("Last-Event-ID", strconv.FormatUint(after, 10))
	}
	silence := time.AfterFunc(silenceTimeout, cancel)
	res, err := w.http.Do(req)
	if err != nil {
		cancel()
		return nil, err
	}
	res.Body = &watched{res.Body, silence, cancel}
	return res, nil
}

// watched is the body of a response. Reads fail after silenceTimeout without data.
type watched struct {
	io.ReadCloser
	silence *time.Timer
	cancel  context.CancelFunc
}

func (b *watched) Read(p []byte) (int, error) {
	b.silence.Reset(silenceTimeout)
	return b.ReadCloser.Read(p)
}

func (b *watched) Close() error {
	b.silence.Stop()
	b.cancel()
	return b.ReadCloser.Close()
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
	if rand.IntN(3) == 0 { // #nosec G404 -- any will do
		limit = rand.IntN(answerWords) // #nosec G404 -- any will do
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

// received returns the event, and whether an error is final: that of an edge is not.
func received(event sse.Event, last uint64) (e Received, final bool) {
	e = Received{Type: event.Type}
	id, err := strconv.ParseUint(event.LastEventID, 10, 64)
	// An error or done without id inherits that of the event before it.
	inherited := id == last && (e.Type == schemas.EventError || e.Type == schemas.EventDone)
	if err == nil && !inherited {
		e.Sequence = id
	}
	var data struct{ Text, Code string }
	if json.Unmarshal([]byte(event.Data), &data) == nil {
		e.Text = data.Text
	}
	return e, data.Code == schemas.ErrRunStopped.Code
}

// Violations by analyses.
const (
	EventsLost  = "events lost"  // or repeated, or other ones
	WithoutDone = "without done" // no end, or lost although a majority of the nodes was running
)

// judgeAnalyses counts the analyses by outcome and by violation.
func judgeAnalyses(list []Analysis, faults []Fault) (count map[string]int, resumed int, violations []string) {
	count = map[string]int{}
	text := answer()
	for _, r := range list {
		outcome, err := r.Check(text)
		if err == nil && outcome == Lost && !slices.ContainsFunc(faults, func(f Fault) bool { return f.mayLose(r) }) {
			err = errors.New("the run was lost although a majority of the nodes was running")
		}
		if err != nil {
			what := EventsLost
			if errors.Is(err, errNoEnd) || outcome == Lost {
				what = WithoutDone
			}
			count[what]++
			violations = append(violations, fmt.Sprintf("run of client %d from %v to %v: %v", r.Client, r.Began, r.Ended, err))
			continue
		}
		count[outcome]++
		resumed += r.Resumed
	}
	return count, resumed, violations
}
