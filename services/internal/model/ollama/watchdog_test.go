package ollama_test

import (
	"sync"
	"testing"
	"time"

	"cairn/services/internal/model"
	"cairn/services/internal/model/modeltest"
	"cairn/services/internal/model/ollamatest"
	"cairn/test/wait"
)

var hang = modeltest.Turn{End: modeltest.Hang}

// greeting is short, as first_chunk is extended by the time for reading a prompt.
var greeting = model.Conversation{Messages: []model.Message{{Role: model.User, Text: "Hi"}}}

func TestStalledModelIsReloaded(t *testing.T) {
	t.Parallel()
	srv := ollamatest.New(t, hang, modeltest.TextTurn("Four."))
	got, err := modeltest.Collect(t.Context(), open(t, srv.URL()+"?first_chunk=500ms"), greeting)
	if err != nil || got.Text != "Four." {
		t.Fatalf("%q, %v; want the answer of the second attempt", got.Text, err)
	}
	if got := srv.Unloads(); got != 1 {
		t.Errorf("model unloaded %d times, want once", got)
	}
}

func TestStallAfterReload(t *testing.T) {
	t.Parallel()
	srv := ollamatest.New(t, hang, hang)
	_, err := modeltest.Collect(t.Context(), open(t, srv.URL()+"?first_chunk=50ms"), greeting)
	modeltest.CheckError(t, err, model.ErrUnavailable, "no data")
}

// TestConcurrentStalledRequests: every waiting request keeps the model loaded, so all of
// them are canceled before one unloads it.
func TestConcurrentStalledRequests(t *testing.T) {
	t.Parallel()
	say := modeltest.TextTurn("Four.")
	srv := ollamatest.New(t, hang, hang, hang, say, say, say)
	m := open(t, srv.URL()+"?first_chunk=1s")
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if got, err := modeltest.Collect(t.Context(), m, greeting); err != nil || got.Text != "Four." {
				t.Errorf("%q, %v; want the answer of the second attempt", got.Text, err)
			}
		})
	}
	wg.Wait()
	if got := srv.Unloads(); got != 1 {
		t.Errorf("model unloaded %d times, want once", got)
	}
}

func TestBusyServerIsNotStalled(t *testing.T) {
	t.Parallel()
	stream, start := make(chan struct{}), make(chan struct{})
	pieces := make([]string, 60)
	for i := range pieces {
		pieces[i] = "la "
	}
	srv := ollamatest.New(t,
		modeltest.Turn{Text: pieces, Gate: stream},
		modeltest.Turn{Text: []string{"Four."}, Gate: start})
	m := open(t, srv.URL()+"?first_chunk=500ms")

	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		if _, err := modeltest.Collect(t.Context(), m, greeting); err != nil {
			t.Errorf("the streaming request: %v", err)
		}
	})
	stream <- struct{}{}
	wg.Go(func() {
		if got, err := modeltest.Collect(t.Context(), m, greeting); err != nil || got.Text != "Four." {
			t.Errorf("the waiting request: %q, %v", got.Text, err)
		}
	})
	wait.Until(t, "the second request is sent", func() bool { return len(srv.Requests()) == 2 })
	// 59 pieces in 1.5 s: three times first_chunk.
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for range pieces[1:] {
		<-tick.C
		stream <- struct{}{}
	}
	start <- struct{}{}
	wg.Wait()
	if got, unloads := len(srv.Requests()), srv.Unloads(); got != 2 || unloads != 0 {
		t.Errorf("%d requests and %d unloads, want 2 and none", got, unloads)
	}
}
