package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// Failed requests are listed by the last kill before them, and more than the limit are an error.
func TestPrintKills(t *testing.T) {
	t.Parallel()
	second := func(n int) time.Duration { return time.Duration(n) * time.Second }
	r := Result{
		Sent: 6000, Verdict: porcupine.Ok, Analyses: map[string]int{Complete: 4, Stopped: 1},
		Faults: []Fault{
			{What: "SIGKILL of tags0", At: second(10)}, {What: "SIGKILL of nats1", At: second(20)},
			{What: "SIGKILL of tags1", At: second(30)},
		},
		Failures: []failure{
			{second(9), "GET /tags: 503 CE-003", ""}, {second(12), "POST /tags: no response", ""},
			{second(31), "POST /tags: no response", ""},
		},
	}
	var out bytes.Buffer
	if err := printKills(&out, r); err != nil {
		t.Errorf("0.05 %% failed: %v", err)
	}
	for _, want := range []string{
		"3 (0.0500 %)", "before the first kill: GET /tags: 503 CE-003: 1",
		"after SIGKILL of tags: POST /tags: no response: 2",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if r.Sent--; printKills(&out, r) == nil {
		t.Error("more than 0.05 % failed: no error")
	}
}

// Each process is killed in turn, and no two NATS servers one after the other.
func TestProcessesToKill(t *testing.T) {
	t.Parallel()
	c := &cluster{}
	for _, name := range []string{"nats0", "nats1", "nats2", "tags0", "tags1", "resolve0", "resolve1"} {
		c.addPart(name, nil)
	}
	for i := range c.procs {
		c.procs[i].name = "edge" + string(rune('0'+i))
	}
	var names []string
	for _, p := range c.processes() {
		names = append(names, p.name)
	}
	all := slices.Sorted(slices.Values(names))
	want := []string{"edge0", "edge1", "edge2", "nats0", "nats1", "nats2", "resolve0", "resolve1", "tags0", "tags1"}
	if !slices.Equal(all, want) {
		t.Errorf("got %q, want %q", all, want)
	}
	for i, name := range names {
		if next := names[(i+1)%len(names)]; strings.HasPrefix(name, "nats") && strings.HasPrefix(next, "nats") {
			t.Errorf("%s follows %s", next, name)
		}
	}
}
