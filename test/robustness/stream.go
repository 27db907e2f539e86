package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/tmaxmax/go-sse"

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

// received returns the event, and whether it is a final error of the run. An error of the edge is
// not final.
func received(event sse.Event, last uint64) (e Received, final bool) {
	e = Received{Type: event.Type}
	id, err := strconv.ParseUint(event.LastEventID, 10, 64)
	// An error or done event without an id inherits the id of the event before it.
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

// checkAnalyses counts the analyses by outcome and by violation.
func checkAnalyses(list []Analysis, faults []Fault) (count map[string]int, resumed int, violations []string) {
	count = map[string]int{}
	text := answer()
	for _, r := range list {
		outcome, err := r.Check(text)
		if err == nil && outcome == Lost && !slices.ContainsFunc(faults, func(f Fault) bool { return f.mayLose(r) }) {
			err = errors.New("the run was lost although a majority of the nodes was running")
		}
		if err != nil {
			violation := EventsLost
			if errors.Is(err, errNoEnd) || outcome == Lost {
				violation = WithoutDone
			}
			count[violation]++
			violations = append(violations, fmt.Sprintf("run of client %d from %v to %v: %v", r.Client, r.Began, r.Ended, err))
			continue
		}
		count[outcome]++
		resumed += r.Resumed
	}
	return count, resumed, violations
}
