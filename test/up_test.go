package test

import (
	"strings"
	"testing"

	"cairn/test/wait"
)

// TestLogNamesTheRequest checks that a failure is logged once with its request id: by the worker,
// not by the edge.
func TestLogNamesTheRequest(t *testing.T) {
	t.Parallel()
	c := newClient(t, open(t, topologies[1], scripted))
	c.call(t, analyze, question(text(script{Fail: "boom"}), estate), "X-Request-Id: log-"+c.word).expect(t, 500, "AN-500",
		"")
	id := "request_id=log-" + c.word
	wait.Until(t, "the worker logs the request id", func() bool {
		return strings.Contains(c.workers[0].Stderr.String(), id)
	})
	if strings.Contains(c.edges[0].Stderr.String(), id) {
		t.Error("the edge logs the failure again")
	}
}
