package security

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/bus"
	"cairn/schemas"
	"cairn/test/cairntest"
	"cairn/test/wait"
)

// cpuTime returns the CPU time of the process in seconds.
func cpuTime(t *testing.T, p *cairntest.Process) float64 {
	t.Helper()
	return gauge(t, p, "", "process_cpu_seconds_total")
}

const calls = 16 // of a heavy analysis

// computingCost returns the CPU time in seconds of one heavy analysis that is not ended.
func computingCost(t *testing.T) float64 {
	t.Helper()
	p := cairntest.Up(t)
	before := cpuTime(t, p)
	res := analyzeOverHTTP(t.Context(), t, p, "", cairntest.HeavyAnalysis("cost", calls))
	if !strings.Contains(res, "event: done") || strings.Contains(res, "event: error") {
		t.Fatalf("the analysis fails: %.500s", res)
	}
	return cpuTime(t, p) - before
}

// TestEndedAnalysesStop ends analyses during computation: they stop using CPU time and
// release their slots.
func TestEndedAnalysesStop(t *testing.T) {
	t.Parallel()
	cost := computingCost(t)
	t.Logf("an analysis that is not ended uses %.1f s of CPU time", cost)
	const analyses = 2
	for _, row := range []struct {
		name  string
		flags []string
		send  func(ctx context.Context, t *testing.T, p *cairntest.Process, run, body string) (response string)
		end   func(t *testing.T, p *cairntest.Process, runs []string, disconnect func()) // after computation has begun
		want  string                                                                     // in each response
	}{
		{"the client disconnects", []string{"--analyze-grace", "0s"}, analyzeOverHTTP,
			func(_ *testing.T, _ *cairntest.Process, _ []string, disconnect func()) { disconnect() }, context.Canceled.Error()},
		{"canceled", nil, analyzeOverNATS,
			func(t *testing.T, p *cairntest.Process, runs []string,
				_ func()) {
				cancelRuns(t, p, runs)
			}, schemas.ErrRunStopped.Code},
		{"the deadline expires", []string{"--analyze-timeout", "1s"}, analyzeOverHTTP, nil, schemas.ErrAnalysisTimeout.Code},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := cairntest.Up(t, append(row.flags, "--slots", strconv.Itoa(analyses+1))...) // one tenant gets 80 % of the slots
			ctx, disconnect := context.WithCancel(t.Context())
			before := cpuTime(t, p)
			var runs []string
			var running sync.WaitGroup
			defer running.Wait()
			defer disconnect()
			responses := make([]string, analyses)
			for i := range analyses {
				run := bus.NewRun()
				runs = append(runs, run)
				running.Go(func() { responses[i] = row.send(ctx, t, p, run, cairntest.HeavyAnalysis(run, calls)) })
			}
			if row.end != nil {
				wait.Until(t, "the estates are parsed, and computation has begun", func() bool {
					return cpuTime(t, p) > before+analyses*cost*0.2
				})
				row.end(t, p, runs, disconnect)
			}
			running.Wait()
			for _, response := range responses {
				if !strings.Contains(response, row.want) {
					t.Errorf("an analysis ended with %.500q, want %s", response, row.want)
				}
			}
			wait.Until(t, "another analysis is answered", func() bool { return answered(p) })
			wait.Until(t, "the CPU is idle", func() bool {
				since := cpuTime(t, p)
				time.Sleep(500 * time.Millisecond)
				return cpuTime(t, p)-since < 0.2
			})
			if used := cpuTime(t, p) - before; used > analyses*cost*0.65 {
				t.Errorf("%d analyses used %.1f s of CPU time, although they were ended; one that is not ended uses %.1f s",
					analyses, used, cost)
			}
		})
	}
}

// analyzeOverHTTP returns the response, or the error of the request.
func analyzeOverHTTP(ctx context.Context, t *testing.T, p *cairntest.Process, _, body string) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL()+"/api/v1/analyze", strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return ""
	}
	_, text, err := exchange(http.DefaultClient, req)
	if err != nil {
		return err.Error()
	}
	return text
}

// analyzeOverNATS returns the error with which the run ends, or "done".
func analyzeOverNATS(ctx context.Context, t *testing.T, p *cairntest.Process, run, body string) string {
	conn, err := bus.Open(p.NATS(), "client")
	if err != nil {
		t.Error(err)
		return ""
	}
	defer conn.Close()
	for event, err := range bus.Analyze.Run(ctx, conn, run, []byte(body)) {
		switch {
		case err != nil:
			return err.Error()
		case event.Type == schemas.EventError:
			return string(event.Data)
		}
	}
	return "done"
}

// cancelRuns sends DELETE for each run.
func cancelRuns(t *testing.T, p *cairntest.Process, runs []string) {
	t.Helper()
	for _, run := range runs {
		res, text := do(t, http.MethodDelete, p.URL()+"/api/v1/analyze/"+run, "", "")
		if res.StatusCode != http.StatusNoContent {
			t.Errorf("DELETE: got %d %s, want 204", res.StatusCode, text)
		}
	}
}

// answered reports whether a small analysis is answered.
func answered(p *cairntest.Process) bool {
	status, text, err := send(http.DefaultClient, http.MethodPost, p.URL()+"/api/v1/analyze",
		`{"query":"how many hosts per site?","target":"H","context":"{\"hosts\":[{\"site\":\"Oslo\"},{\"site\":\"Oslo\"}]}"}`)
	return err == nil && status == http.StatusOK && strings.Contains(text, `"Oslo":2`)
}
