package security

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"

	"cairn/test/cairntest"
	"cairn/test/wait"
)

// outcome is the result of an analysis request.
type outcome struct {
	status     int
	retryAfter string
	done       bool
	err        error
}

// analyze sends an analysis and returns its outcome.
func analyze(client *http.Client, url string, body []byte) (o outcome) {
	res, err := client.Post(url+"/api/v1/analyze", "application/json", bytes.NewReader(body))
	if err != nil {
		return outcome{err: err}
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	return outcome{res.StatusCode, res.Header.Get("Retry-After"), bytes.Contains(text, []byte("event: done")), err}
}

// TestManySmallAnalyses has 500 analyses of different small estates in progress at
// the same time, with the default settings.
func TestManySmallAnalyses(t *testing.T) {
	t.Parallel()
	const callers = 500
	model := cairntest.NewSlowModel(t, "")
	p := cairntest.Up(t, "--model", model.URL)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers}}
	defer client.CloseIdleConnections()
	idle := gauge(t, p, "", "go_memstats_heap_inuse_bytes")
	outcomes := make([]outcome, callers)
	var calls sync.WaitGroup
	for i := range outcomes {
		calls.Go(func() {
			body := fmt.Appendf(nil, `{"query":"How many pumps are there?","target":"H","context":"{\"n\":%d,\"pumps\":[{\"id\":\"p1\"},{\"id\":\"p2\"}]}"}`, i)
			outcomes[i] = analyze(client, p.URL(), body)
		})
	}
	wait.Until(t, "500 analyses in progress", func() bool { return model.Waiting() >= callers })
	t.Logf("%.0f KiB of heap in use for each analysis",
		(gauge(t, p, "", "go_memstats_heap_inuse_bytes")-idle)/callers/1024)
	model.Release()
	calls.Wait()
	for i, o := range outcomes {
		if o.err != nil || o.status != http.StatusOK || !o.done {
			t.Errorf("analysis %d: got %+v, %v, want 200 and a whole stream", i, o, o.err)
		}
	}
}

// TestLargeAnalysesAreBounded starts 16 analyses of 2.4 MB; those beyond the memory limit
// get 503 with Retry-After, and a small one is served. It does not run in parallel,
// because it uses all CPUs.
func TestLargeAnalysesAreBounded(t *testing.T) {
	const callers = 16
	model := cairntest.NewSlowModel(t, "")
	p := cairntest.Up(t, "--model", model.URL, "--analysis-memory", "64", "--body-memory", "64")
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers}}
	defer client.CloseIdleConnections()
	var mu sync.Mutex
	refused := 0
	outcomes := make([]outcome, callers)
	var calls sync.WaitGroup
	for i := range outcomes {
		calls.Go(func() {
			outcomes[i] = analyze(client, p.URL(), cairntest.LargeAnalysis(i, 2_500_000))
			if outcomes[i].status == http.StatusServiceUnavailable {
				mu.Lock()
				refused++
				mu.Unlock()
			}
		})
	}
	wait.Until(t, "each of 16 analyses is in progress or refused", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return model.Waiting()+refused >= callers
	})
	held := model.Waiting()
	if heap := gauge(t, p, "", "go_memstats_heap_inuse_bytes"); heap > 400<<20 {
		t.Errorf("%.0f MiB of heap are in use, want at most 400", heap/(1<<20))
	} else {
		t.Logf("%d of %d are in progress, with %.0f MiB of heap in use", held, callers, heap/(1<<20))
	}
	small := make(chan outcome, 1)
	go func() { small <- analyze(client, p.URL(), []byte(smallAnalysis)) }()
	wait.Until(t, "a small analysis beside them", func() bool { return model.Waiting() > held })
	model.Release()
	calls.Wait()
	if o := <-small; o.status != http.StatusOK || !o.done {
		t.Errorf("a small analysis beside them: got %+v, want 200 and a whole stream", o)
	}
	if held == 0 || held == callers {
		t.Errorf("%d of %d analyses were admitted, want some", held, callers)
	}
	for i, o := range outcomes {
		served := o.status == http.StatusOK && o.done
		turnedAway := o.status == http.StatusServiceUnavailable && o.retryAfter != ""
		if o.err != nil || !served && !turnedAway {
			t.Errorf("analysis %d: got %+v, want 200 or 503 with Retry-After", i, o)
		}
	}
}
