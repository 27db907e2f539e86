package security

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
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

// heavyAnalysis is a body whose planning takes seconds of CPU time: its question repeats
// names among 50,000 fields.
func heavyAnalysis(t *testing.T) string {
	t.Helper()
	var estate strings.Builder
	for a := range 125 {
		fmt.Fprintf(&estate, `,"hosts%d":[{"name":"h"`, a)
		for f := range 399 {
			fmt.Fprintf(&estate, `,"site_%d_site_%d_cluster_rack_zone":"Oslo"`, a, f)
		}
		estate.WriteString(`}]`)
	}
	body, err := json.Marshal(map[string]string{
		"query": "how many hosts in " + strings.Repeat("site Oslo cluster rack zone ", 48), "target": "H",
		"context": "{" + estate.String()[1:] + "}",
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

var processorSeconds = regexp.MustCompile(`(?m)^process_cpu_seconds_total (\S+)$`)

// cpuTime returns the CPU time of the process in seconds.
func cpuTime(t *testing.T, url string) float64 {
	t.Helper()
	res, err := http.Get(url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	found := processorSeconds.FindSubmatch(text)
	if err != nil || found == nil {
		t.Fatalf("no process_cpu_seconds_total in the metrics: %v", err)
	}
	seconds, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return seconds
}

// TestEndedAnalysesStop ends analyses during planning: they stop using CPU time and
// release their slots.
func TestEndedAnalysesStop(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		flags []string
		ask   func(ctx context.Context, t *testing.T, p *cairntest.Process, run, body string)
		end   func(t *testing.T, p *cairntest.Process, runs []string, disconnect func())
	}{
		{"the client disconnects", []string{"--analyze-grace", "0s"}, askOverHTTP,
			func(_ *testing.T, _ *cairntest.Process, _ []string, disconnect func()) { disconnect() }},
		{"canceled", nil, askOverNATS,
			func(t *testing.T, p *cairntest.Process, runs []string, _ func()) { cancelRuns(t, p, runs) }},
		{"the deadline expires", []string{"--analyze-timeout", "2s"}, askOverHTTP,
			func(*testing.T, *cairntest.Process, []string, func()) {}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			const analyses = 4
			p := cairntest.Up(t, append(row.flags, "--slots", strconv.Itoa(analyses+1))...) // one tenant gets 80 % of the slots
			ctx, disconnect := context.WithCancel(t.Context())
			body := heavyAnalysis(t)
			before := cpuTime(t, p.URL())
			var runs []string
			var asking sync.WaitGroup
			defer asking.Wait()
			defer disconnect()
			for range analyses {
				run := bus.NewRun()
				runs = append(runs, run)
				asking.Go(func() { row.ask(ctx, t, p, run, body) })
			}
			wait.Until(t, "analyses use the CPU", func() bool { return cpuTime(t, p.URL()) > before+0.3 })
			row.end(t, p, runs, disconnect)
			asking.Wait()
			wait.Until(t, "another analysis is answered", func() bool { return answered(p) })
			wait.Until(t, "the CPU is idle", func() bool {
				since := cpuTime(t, p.URL())
				time.Sleep(500 * time.Millisecond)
				return cpuTime(t, p.URL())-since < 0.2
			})
		})
	}
}

// askOverHTTP reads the answer until its end or that of ctx.
func askOverHTTP(ctx context.Context, t *testing.T, p *cairntest.Process, _, body string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL()+"/api/v1/analyze", strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return
	}
	if res, err := http.DefaultClient.Do(req); err == nil {
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
	}
}

// askOverNATS reads the events of the run until its end, which is an error.
func askOverNATS(ctx context.Context, t *testing.T, p *cairntest.Process, run, body string) {
	conn, err := bus.Open(p.NATS(), "client")
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	for _, err := range bus.Analyze.Run(ctx, conn, run, []byte(body)) {
		if err != nil && !errors.Is(err, schemas.ErrRunStopped) {
			t.Errorf("got %v, want %v", err, schemas.ErrRunStopped)
		}
	}
}

// cancelRuns sends DELETE for each run.
func cancelRuns(t *testing.T, p *cairntest.Process, runs []string) {
	t.Helper()
	for _, run := range runs {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, p.URL()+"/api/v1/analyze/"+run, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusNoContent {
			t.Errorf("DELETE: got %d, want 204", res.StatusCode)
		}
	}
}

// answered reports whether a small analysis is answered.
func answered(p *cairntest.Process) bool {
	res, err := http.Post(p.URL()+"/api/v1/analyze", "application/json", strings.NewReader(
		`{"query":"how many hosts per site?","target":"H","context":"{\"hosts\":[{\"site\":\"Oslo\"},{\"site\":\"Oslo\"}]}"}`))
	if err != nil {
		return false
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	return err == nil && res.StatusCode == http.StatusOK && strings.Contains(string(text), `"Oslo":2`)
}
