package test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"cairn/test/cairntest"
	"cairn/test/wait"
)

// TestGracefulShutdown stops a system during an analysis: it accepts no more
// connections and completes the answer.
func TestGracefulShutdown(t *testing.T) {
	isolated(t, setup{model: "scripted"}, func(t *testing.T, c *client) {
		s := c.follow(t, question(text(script{Say: "some words ", Await: c.word}), estate))
		theModel.received.await(t, 10*time.Second, c.word, "the model receives the request")
		stopped := make(chan error, 1)
		go func() { stopped <- c.stop() }()
		wait.Until(t, "no more connections are accepted", func() bool {
			conn, err := net.Dial("tcp", strings.TrimPrefix(c.edge, "http://"))
			if err == nil {
				_ = conn.Close()
			}
			return err != nil
		})
		theModel.released.set(c.word)
		if got := textOf(t, s.rest(t)); got != "some words released" {
			t.Errorf("the answer in flight is %q", got)
		}
		c.http.CloseIdleConnections()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}

// TestWorkerDrains stops a worker during an analysis: it completes the answer, and
// other workers serve on.
func TestWorkerDrains(t *testing.T) {
	t.Parallel()
	c := newClient(t, start(t, topologies[1],
		setup{model: "scripted", workers: [][]string{{"analyze"}, {"tags", "register", "resolve"}}}))
	s := c.follow(t, question(text(script{Say: "some words ", Await: c.word}), estate))
	theModel.received.await(t, 10*time.Second, c.word, "the model receives the request")
	c.workers[0].Terminate()
	wait.Until(t, "the worker accepts no more requests", func() bool {
		a, err := c.try(context.Background(), analyze, question(text(script{Say: "x"}), "{}"))
		return err == nil && a.status == 503
	})
	c.do(t, "POST /register/skill", `{"record":{"skill_id":"$.a"}}`)
	theModel.released.set(c.word)
	if got := textOf(t, s.rest(t)); got != "some words released" {
		t.Errorf("the answer in flight is %q", got)
	}
	if err := c.workers[0].Wait(); err != nil {
		t.Error(err)
	}
}

// TestWorkerKilled kills a worker during an analysis: the stream ends with an
// error, and a new worker takes over.
func TestWorkerKilled(t *testing.T) {
	t.Parallel()
	c := newClient(t, start(t, topologies[1],
		setup{model: "scripted", workers: [][]string{{"analyze"}, {"tags", "register", "resolve"}}}))
	s := c.follow(t, question(text(script{Say: "some words ", Await: c.word}), estate))
	s.until(t, "some words ")
	dead := c.workers[0]
	dead.Kill()
	events := s.rest(t)
	if e := all(events, "error"); len(e) != 1 || !strings.Contains(e[0], "AN-410") || textOf(t, events) != "" {
		t.Errorf("%v, want an error AN-410 and done", events)
	}
	c.call(t, analyze, question("q", "{}")).expect(t, 503, "AN-503", "")
	c.workers[0] = launch(dead.Cmd.Path, dead.Cmd.Args[1:]...)
	must(t, c.workers[0].WaitReady())
	inOrder(t, kindsOf(c.analyze(t, question(text(script{Say: "as before"}), estate))))
}

// TestNonLoopbackNeedsInsecure refuses to listen without authentication on an
// address that other machines reach, unless --insecure is set.
func TestNonLoopbackNeedsInsecure(t *testing.T) {
	t.Parallel()
	program := cairntest.Program(t)
	for _, args := range [][]string{
		{"edge", "--http", "0.0.0.0:0"}, {"edge", "--http", ":0"},
		{"up", "--http", "[::]:0", "--data", "", "--nats-listen", ""},
		{"up", "--http", "127.0.0.1:0", "--data", "", "--nats-listen", "0.0.0.0:0"},
	} {
		p := launch(program, args...)
		select {
		case <-p.Exited():
		case <-time.After(wait.Timeout):
			p.Kill()
		}
		if err := p.Wait(); err == nil || !strings.Contains(p.Stderr.String(), "--insecure") {
			t.Errorf("cairn %q: %v, want an error that names --insecure", args, err)
		}
	}
}
