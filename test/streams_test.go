package test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
)

// TestManyStreams runs concurrent streams: each has all its events in order, and no event
// of another stream.
func TestManyStreams(t *testing.T) {
	t.Parallel()
	const streams, words = 60, 600 // more than two flow-control windows
	c := newClient(t, start(t, topologies[0], setup{idle: true}))
	serveWords(t, c.nats, 8*streams, words) // each retry of a slow start takes another slot
	var all sync.WaitGroup
	for n := range streams {
		all.Go(func() {
			if err := c.readStream(t.Context(), fmt.Sprint("stream", n), words); err != nil {
				t.Errorf("stream %d: %v", n, err)
			}
		})
	}
	all.Wait()
}

// serveWords serves analyses with the given number of words, each containing the query.
func serveWords(t *testing.T, server string, slots, words int) {
	t.Helper()
	s := bustest.ServiceWithSlots(t, bustest.DialURL(t, server), "analyze", slots)
	must(t, bus.Analyze.Serve(s, func(_ context.Context, ask schemas.Analysis, to bus.Sender) error {
		for i := range words {
			if err := to.Send(schemas.EventTextDelta, schemas.TextDelta{Text: fmt.Sprintf("%s-%d ", ask.Query, i)}); err != nil {
				return err
			}
		}
		return nil
	}))
}

// readStream reads an answer of talk and validates its events.
func (c *client) readStream(ctx context.Context, query string, words int) error {
	a, err := c.try(ctx, analyze, question(query, "{}"))
	if err != nil {
		return err
	}
	blocks := strings.Split(strings.ReplaceAll(strings.TrimSuffix(a.body, "\n\n"), ": alive\n\n", ""), "\n\n")
	if len(blocks) != words+1 {
		return fmt.Errorf("status %d and %d events, want %d: …%s", a.status, len(blocks), words+1,
			a.body[max(0, len(a.body)-300):])
	}
	for i, got := range blocks {
		want := fmt.Sprintf("id: %d\nevent: text_delta\ndata: {\"text\":\"%s-%d \"}", i+1, query, i)
		if i == words {
			want = fmt.Sprintf("id: %d\nevent: done\ndata: {}", i+1)
		}
		if got != want {
			return fmt.Errorf("event %d is %q, want %q", i+1, got, want)
		}
	}
	return nil
}
