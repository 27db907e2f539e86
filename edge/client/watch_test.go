package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"cairn/edge/client"
	"cairn/schemas"
)

// TestWatchResumes cuts the first connection after a change; the watch continues after its revision.
func TestWatchResumes(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	after := make(chan string, 2)
	c := open(t, func(w http.ResponseWriter, r *http.Request) {
		given := r.URL.Query().Get("after")
		after <- given
		w.Header().Set("Content-Type", "text/event-stream")
		if given == "" {
			_, _ = fmt.Fprint(w, "event: watching\ndata: {\"revision\":\"ID-1\"}\n\n"+
				"event: registered\nid: ID-2\ndata: {\"revision\":\"ID-2\",\"kind\":\"tool\",\"id\":\"a\",\"stored_at\":\"\"}\n\n")
			return
		}
		_, _ = fmt.Fprint(w, "event: deleted\nid: ID-3\ndata: {\"revision\":\"ID-3\",\"kind\":\"tool\",\"id\":\"a\",\"stored_at\":\"\"}\n\n")
	}, client.Config{})
	var got []string
	for change, err := range c.Watch(ctx, schemas.Watch{Kind: "tool"}) {
		must(t, err)
		got = append(got, change.Type+" "+change.ID)
		if change.Type == schemas.EventDeleted {
			cancel()
		}
	}
	if want := []string{"registered a", "deleted a"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if first, second := <-after, <-after; first != "" || second != "ID-2" {
		t.Errorf("after is %q, then %q; want none, then ID-2", first, second)
	}
}

// TestWatchError checks that an error event ends the watch with the error of its code.
func TestWatchError(t *testing.T) {
	t.Parallel()
	c := open(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "event: error\ndata: {\"code\":%q,\"message\":\"the worker has stopped\"}\n\n",
			schemas.ErrUnavailable.Code)
	}, client.Config{})
	var got []error
	for _, err := range c.Watch(t.Context(), schemas.Watch{}) {
		got = append(got, err)
	}
	if len(got) != 1 || !errors.Is(got[0], schemas.ErrUnavailable) {
		t.Errorf("got %v, want one %v", got, schemas.ErrUnavailable)
	}
}
