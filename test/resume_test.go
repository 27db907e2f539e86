package test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/test/wait"
)

// run returns the path of the analysis run, to resume or cancel it.
func (s *stream) run() string { return "/api/v1/analyze/" + s.res.Header.Get("Cairn-Run") }

func after(event int) string { return fmt.Sprint("Last-Event-ID: ", event) }

// TestResume resumes an interrupted answer on another edge without losing events.
func TestResume(t *testing.T) {
	everywhere(t, resumable, func(t *testing.T, c *client) {
		s := c.follow(t, question(text(script{Say: "some words ", Await: c.word}), estate))
		begun := s.until(t, "some ") // a stream without further events begins with a comment after 10 s
		s.stop()
		back := c.at(c.secondEdge).stream(t, "GET "+s.run(), "", after(len(begun)))
		beside := c.stream(t, "GET "+s.run(), "", after(0))
		if back.res.StatusCode != 200 || back.run() != s.run() {
			t.Fatalf("status %d of run %q, want 200 of %q", back.res.StatusCode, back.run(), s.run())
		}
		beside.until(t, "some words ")
		theModel.released.set(c.word)
		if got := textOf(t, back.rest(t)); got != "words released" {
			t.Errorf("after %d events: %q, want the remaining text", len(begun), got)
		}
		if got := textOf(t, beside.rest(t)); got != "released" {
			t.Errorf("a second client: %q after the first words", got)
		}
	})
}

// TestReplayFinishedRun reads a complete answer again.
func TestReplayFinishedRun(t *testing.T) {
	everywhere(t, resumable, func(t *testing.T, c *client) {
		s := c.follow(t, question(text(script{Say: "some words"}), estate))
		first := s.rest(t)
		again := c.at(c.secondEdge).stream(t, "GET "+s.run(), "").rest(t)
		if fmt.Sprint(again) != fmt.Sprint(first) {
			t.Errorf("again it is %v, first it was %v", again, first)
		}
		for seen, want := range map[int]int{0: 200, len(first) - 1: 200, len(first): 204, len(first) + 1: 204} {
			if a := c.call(t, "GET "+s.run(), "", after(seen)); a.status != want || want == 204 && a.body != "" {
				t.Errorf("after %d of %d events: %d %s, want %d", seen, len(first), a.status, truncated(a.body), want)
			}
		}
		a := c.call(t, "GET "+s.run(), "", "Last-Event-ID: x")
		a.expect(t, 400, "AN-400 Last-Event-Id", "")
		if a := c.call(t, "GET "+s.run(), "", "Last-Event-ID: "); a.status != 200 {
			t.Errorf("an empty Last-Event-ID: %d %s", a.status, a.body)
		}
		a = c.call(t, "HEAD "+s.run(), "")
		if a.status != 405 || a.header.Get("Allow") != "DELETE, GET, OPTIONS" {
			t.Errorf("HEAD: %d, Allow %q", a.status, a.header.Get("Allow"))
		}
		c.do(t, "DELETE "+s.run(), "")
		c.rows(t, []row{
			{"an unknown run", "GET /api/v1/analyze/$", "", 404, "AN-404", ""},
			{"an invalid run name", "GET /api/v1/analyze/a.*.%3E", "", 404, "AN-404", ""},
			{"canceling an unknown run", "DELETE /api/v1/analyze/$", "", 204, "", ""},
			{"canceling an invalid run name", "DELETE /api/v1/analyze/%3E", "", 204, "", ""},
			{"an unknown parameter", "GET /api/v1/analyze/$?after=1", "", 400, "AN-400 after", ""},
		})
	})
}

// TestCancelRun cancels a run: it ends immediately, and every client gets AN-410.
func TestCancelRun(t *testing.T) {
	everywhere(t, resumable, func(t *testing.T, c *client) {
		s := c.follow(t, question(text(script{Say: "some words ", Await: c.word}), estate, `"on_disconnect":"continue"`))
		s.until(t, "some words ")
		c.at(c.secondEdge).do(t, "DELETE "+s.run(), "")
		theModel.canceled.await(t, 2*time.Second, c.word, "the model call is canceled")
		for _, end := range [][]event{s.rest(t), c.stream(t, "GET "+s.run(), "").rest(t)} {
			if e := all(end, "error"); len(e) != 1 || !strings.Contains(e[0], "AN-410") {
				t.Errorf("%v, want an error AN-410", end)
			}
		}
	})
}

// TestOnDisconnect cancels a run without clients after the grace period, unless
// the request sets on_disconnect to continue.
func TestOnDisconnect(t *testing.T) {
	everywhere(t, scripted, func(t *testing.T, c *client) {
		ask := func(word string, members ...string) *stream {
			s := c.follow(t, question(text(script{Say: "some words ", Await: word}), estate, members...))
			s.until(t, "some words ")
			s.stop()
			return s
		}
		stays := ask(c.word+"stays", `"on_disconnect":"continue"`)
		goes := ask(c.word + "goes")
		theModel.canceled.await(t, 5*time.Second, c.word+"goes", "the model call of the abandoned run is canceled")
		theModel.released.set(c.word + "stays")
		if got := textOf(t, c.stream(t, "GET "+stays.run(), "").rest(t)); got != "some words released" {
			t.Errorf("the run that continues: %q", got)
		}
		wait.Until(t, "the end is replayed", func() bool {
			a := c.call(t, "GET "+goes.run(), "")
			return a.status == 200 && strings.Contains(a.body, "AN-410") && strings.Contains(a.body, "no client was connected")
		})
		c.call(t, analyze, question("q", estate, `"on_disconnect":"maybe"`)).expect(t, 400, "AN-400 on_disconnect", "")
	})
}

// TestInvalidAnalysisIsNoRun refuses an analysis that is not valid: it is not listed as a run, and has no events.
func TestInvalidAnalysisIsNoRun(t *testing.T) {
	everywhere(t, authenticated, func(t *testing.T, c *client) {
		caller := c.withRole(t, schemas.RoleAnalyst, "$4")
		caller.rows(t, []row{
			{"no estate", analyze, `{"id":"$","query":"How many?","target":"H"}`, 400, "AN-400 context", ""},
			{"a body in chunks", analyze, `{"id":"$","query":"How many?","target":"X","context":"` +
				strings.Repeat("x", 1<<20) + `"}`, 400, "AN-400 target", ""},
			{"no JSON", analyze, `{"id":"$",`, 400, "AN-400", ""},
		})
		caller.call(t, "GET /runs", "").expect(t, 200, `{"runs":[],"next_cursor":null}`, "")
		conn, run := bustest.DialURL(t, c.nats), bus.NewRun()
		for _, err := range bus.Analyze.Run(t.Context(), conn, run, []byte(`{"id":"i"}`)) {
			if !errors.Is(err, schemas.ErrAnalysisMalformed) {
				t.Errorf("over NATS: got %v, want %v", err, schemas.ErrAnalysisMalformed)
			}
		}
		c.call(t, "GET /api/v1/analyze/"+run, "").expect(t, 404, "AN-404", "")
		if list := c.call(t, "GET /runs?limit=100", ""); strings.Contains(list.body, run) {
			t.Errorf("the list of runs has the run of an invalid request: %s", list.body)
		}
	})
}
