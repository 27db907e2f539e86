package test

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// endlessModel is one that says the same again and again, and that only the
// test of the cancellation asks.
const endlessModel = "scripted-slow-loop"

// A real model stops working within a second when its analysis is stopped: the
// process that runs it takes no more processor time.
func TestRealModelStops(t *testing.T) {
	server := os.Getenv(ollamaVariable)
	if server == "" || runtime.GOOS != "linux" {
		t.Skip("needs an Ollama with the scripted models on this machine, at " + ollamaVariable)
	}
	t.Parallel()
	for name, stop := range map[string]func(*testing.T, *client, *stream){
		"by DELETE": func(t *testing.T, c *client, s *stream) { c.do(t, "DELETE "+s.run(), "") },
		"since the caller left and the grace is over": func(_ *testing.T, _ *client, s *stream) { s.stop() },
	} {
		c := newClient(t, start(t, topologies[0], setup{model: ollamaURL(server, endlessModel) + "?num_ctx=2048", grace: time.Millisecond}))
		s := c.follow(t, question("/loop", "{}"))
		for e, ok := s.next(); e.kind != "text_delta"; e, ok = s.next() {
			if !ok {
				t.Fatal("the model says nothing")
			}
		}
		runner := c.runner(t, server)
		soon(t, "the model works while it speaks", patient, func() bool { return works(t, runner) }) // others may have the processors
		stop(t, c, s)
		told := time.Now()
		for works(t, runner) {
			if took := time.Since(told); took > 2*time.Second {
				t.Fatalf("%s: the model is still at work after %v", name, took)
			}
		}
		t.Logf("%s: the model worked for at most %v more", name, time.Since(told))
	}
}

var weights = regexp.MustCompile(`sha256-[0-9a-f]{64}`)

// runner is the folder in /proc of the process that runs the model.
func (c *client) runner(t *testing.T, server string) string {
	t.Helper()
	shown := c.at(strings.TrimRight(server, "/")).ask(t, "POST /api/show", `{"model":"`+endlessModel+`"}`)
	list, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range list {
		line, _ := os.ReadFile(file) // of a process that is over by now: nothing
		if strings.Contains(string(line), "runner") && strings.Contains(string(line), weights.FindString(shown.body)) {
			return filepath.Dir(file)
		}
	}
	t.Skip("the Ollama is on another machine")
	return ""
}

// works reports whether the process takes processor time within the next while.
func works(t *testing.T, process string) bool {
	t.Helper()
	before := ticks(t, process)
	time.Sleep(300 * time.Millisecond) // what is measured is the time
	return ticks(t, process)-before > 1
}

// ticks is the processor time that the process has taken, in user mode (proc(5)).
func ticks(t *testing.T, process string) int {
	t.Helper()
	stat, err := os.ReadFile(process + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	n, err := strconv.Atoi(strings.Fields(after)[11])
	if err != nil {
		t.Fatal(err)
	}
	return n
}
