package test

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tmaxmax/go-sse"

	"cairn/test/wait"
)

// followed is an analysis whose client reads it at several edges.
type followed struct {
	run   string // path
	last  uint64 // id of the last event
	text  strings.Builder
	error string // data of the error event
	done  bool
}

// read reads the events of a response up to the end of the response, or until enough returns
// true. It returns an error if the events are not consecutive.
func (f *followed) read(res *http.Response, enough func() bool) error {
	defer func() { _ = res.Body.Close() }()
	for e, err := range sse.Read(res.Body, nil) {
		if err != nil || e.LastEventID == "" {
			return nil //nolint:nilerr // the response was interrupted
		}
		id, err := strconv.ParseUint(e.LastEventID, 10, 64)
		lost := id == sequenceLost && e.Type == "error"
		switch {
		case err != nil || f.done || id != f.last+1 && !lost:
			return fmt.Errorf("event %s %s after event %d", e.LastEventID, e.Type, f.last)
		case e.Type == "error":
			f.error = e.Data
		case e.Type == "text_delta":
			_, data, _ := strings.Cut(e.Data, `"text":"`)
			f.text.WriteString(strings.TrimSuffix(data, `"}`))
		}
		if f.last, f.done = id, e.Type == "done"; enough() {
			return nil
		}
	}
	return nil
}

// sequenceLost is the id of the error event of an analysis whose worker was lost.
const sequenceLost = 9007199254740990

// follow resumes the analysis at one of the edges after the other until it is done.
func (f *followed) follow(t *testing.T, edges ...*client) {
	for end := time.Now().Add(wait.Timeout); !f.done; {
		if time.Now().After(end) {
			t.Errorf("the run has not ended after event %d", f.last)
			return
		}
		for _, edge := range edges {
			if f.done {
				return
			}
			res, err := edge.send(t.Context(), "GET "+f.run, nil, "Last-Event-ID: "+strconv.FormatUint(f.last, 10))
			if err != nil {
				continue // the machine is lost, or refuses connections
			}
			if res.StatusCode == http.StatusNoContent || res.StatusCode == http.StatusNotFound ||
				res.StatusCode == http.StatusGone {
				t.Errorf("status %d after event %d, which is not the last one", res.StatusCode, f.last)
				f.done = true
			}
			if err := f.read(res, func() bool { return f.done }); err != nil {
				t.Error(err)
				return
			}
		}
	}
}

// TestRealLossOfAMachine kills one of three machines while each works on 4 runs.
// All clients continue at the other machines: the runs of the lost worker end with an error
// and done, and all others are complete.
func TestRealLossOfAMachine(t *testing.T) {
	if os.Getenv("CAIRN_TEST_FAULTS") == "" {
		t.Skip("needs CAIRN_TEST_FAULTS=1: it takes minutes")
	}
	t.Parallel()
	const each, words = 4, 120
	m := newMachines(t)
	m.flags = []string{"--model", modelURL(setup{model: "scripted"})}
	edges := m.clients()
	m.run(0, 1, 2)
	m.awaitRunning(0, 1, 2)
	for _, edge := range edges {
		edge.awaitHealth(t, 200, allWell)
	}
	var say strings.Builder
	for i := range words {
		fmt.Fprintf(&say, "w%d ", i)
	}
	answer := say.String() + "released"
	runs := make([]followed, each*len(edges))
	var clients, begun sync.WaitGroup
	killed := make(chan struct{})
	begun.Add(len(runs))
	for i := range runs {
		run, edge, await := &runs[i], edges[i%len(edges)], fmt.Sprint(edges[0].word, i)
		clients.Go(func() {
			res, err := edge.send(t.Context(), analyze,
				strings.NewReader(question(text(script{Say: say.String(), Await: await}), estate)))
			if err != nil || res.StatusCode != 200 {
				t.Errorf("run %d: %v, %v", i, res, err)
				begun.Done()
				return
			}
			run.run = "/api/v1/analyze/" + res.Header.Get("Cairn-Run")
			enough := 1 + 10*i
			if err := run.read(res, func() bool { enough--; return enough == 0 }); err != nil {
				t.Error(err)
			}
			begun.Done()
			<-killed
			theModel.released.set(await)
			run.follow(t, edges[1+i%2], edges[2-i%2])
		})
	}
	begun.Wait()
	m.kill(0)
	close(killed)
	clients.Wait()
	lost := 0
	for i := range runs {
		run := &runs[i]
		got := run.text.String()
		switch {
		case run.error == "" && got != answer:
			t.Errorf("run %d is %q, want the whole answer", i, got)
		case run.error != "" && (!strings.Contains(run.error, "AN-410") || !strings.HasPrefix(answer, got)):
			t.Errorf("run %d is %q and ends with %s", i, got, run.error)
		case run.error != "":
			lost++
			res, err := edges[1].send(t.Context(), "GET "+run.run, nil, fmt.Sprint("Last-Event-ID: ", run.last))
			if err != nil || res.StatusCode != http.StatusNoContent {
				t.Errorf("run %d after done: %v, %v, want 204", i, res, err)
			}
		}
	}
	if lost > 2*each {
		t.Errorf("%d of %d runs are incomplete, want those of one worker", lost, len(runs))
	}
}
