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

	"cairn/test/wait"
)

// endlessModel repeats the same tokens without end. No other test uses it.
const endlessModel = "scripted-slow-loop"

// TestRealModelStops cancels an analysis: the process that runs the model soon stops
// using CPU time.
func TestRealModelStops(t *testing.T) {
	server := os.Getenv(ollamaVariable)
	if server == "" || runtime.GOOS != "linux" {
		t.Skip("needs an Ollama with the scripted models on this machine, at " + ollamaVariable)
	}
	t.Parallel()
	for name, stop := range map[string]func(*testing.T, *client, *stream){
		"by DELETE": func(t *testing.T, c *client, s *stream) { c.do(t, "DELETE "+s.run(), "") },
		"after the disconnect and the grace period": func(_ *testing.T, _ *client, s *stream) { s.stop() },
	} {
		endless := ollamaURL(server, endlessModel+"?num_ctx=2048&"+forwarded)
		c := newClient(t, start(t, topologies[0], setup{model: endless, grace: time.Millisecond}))
		s := c.follow(t, question("/loop", "{}"))
		for e, ok := s.next(); e.kind != "text_delta"; e, ok = s.next() {
			if !ok {
				t.Fatal("the model sends no text")
			}
		}
		runner := c.runner(t, server)
		// other processes may use the CPUs
		wait.Until(t, "the model uses the CPU during the answer", func() bool { return works(t, runner) })
		stop(t, c, s)
		wait.Until(t, "the model stops: "+name, func() bool { return !works(t, runner) })
	}
}

var weights = regexp.MustCompile(`sha256-[0-9a-f]{64}`)

// runner returns the directory in /proc of the process that runs the model.
func (c *client) runner(t *testing.T, server string) string {
	t.Helper()
	shown := c.at(strings.TrimRight(server, "/")).call(t, "POST /api/show", `{"model":"`+endlessModel+`"}`)
	list, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range list {
		line, _ := os.ReadFile(file) // empty for a process that has exited
		if strings.Contains(string(line), "runner") && strings.Contains(string(line), weights.FindString(shown.body)) {
			return filepath.Dir(file)
		}
	}
	t.Skip("the Ollama is on another machine")
	return ""
}

// works reports whether the process uses CPU time within 300 ms.
func works(t *testing.T, process string) bool {
	t.Helper()
	before := ticks(t, process)
	time.Sleep(300 * time.Millisecond) // sampling interval
	return ticks(t, process)-before > 1
}

// ticks returns the CPU time of the process in user mode; see proc(5).
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
