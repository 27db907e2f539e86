package security

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/test/cairntest"
)

// heavyAnalysis is a body whose planning, over 50,000 fields that the question
// names again and again, takes seconds of processor time.
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
		"query": "how many hosts in " + strings.Repeat("site Oslo cluster rack zone ", 48), "target": "H", "context": "{" + estate.String()[1:] + "}",
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

var processorSeconds = regexp.MustCompile(`(?m)^process_cpu_seconds_total (\S+)$`)

// processorTime is what the process has used so far, in seconds.
func processorTime(t *testing.T, url string) float64 {
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

// Analyses whose callers have left take neither processor time nor a place from
// those of others.
func TestAbandonedAnalysesEnd(t *testing.T) {
	t.Parallel()
	p := cairntest.Up(t, "--analyze-grace", "0s")
	ctx, leave := context.WithCancel(t.Context())
	body := heavyAnalysis(t)
	before := processorTime(t, p.URL())
	var asking sync.WaitGroup
	defer asking.Wait()
	defer leave()
	for range 4 {
		asking.Go(func() {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL()+"/api/v1/analyze", strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			if res, err := http.DefaultClient.Do(req); err == nil {
				_, _ = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
			}
		})
	}
	deadline := time.Now().Add(30 * time.Second)
	for processorTime(t, p.URL()) < before+0.3 && time.Now().Before(deadline) {
		time.Sleep(20 * time.Millisecond)
	}
	leave()
	asking.Wait()
	answered := func() bool {
		res, err := http.Post(p.URL()+"/api/v1/analyze", "application/json", strings.NewReader(
			`{"query":"how many hosts per site?","target":"H","context":"{\"hosts\":[{\"site\":\"Oslo\"},{\"site\":\"Oslo\"}]}"}`))
		if err != nil {
			return false
		}
		defer func() { _ = res.Body.Close() }()
		text, err := io.ReadAll(res.Body)
		return err == nil && res.StatusCode == http.StatusOK && strings.Contains(string(text), `"Oslo":2`)
	}
	idle := func() bool {
		since := processorTime(t, p.URL())
		time.Sleep(500 * time.Millisecond)
		return processorTime(t, p.URL())-since < 0.2
	}
	for what, done := range map[string]func() bool{"another analysis is answered": answered, "the processor is idle": idle} {
		for deadline := time.Now().Add(20 * time.Second); !done(); {
			if time.Now().After(deadline) {
				t.Fatalf("not within 20 s of the end of the callers: %s\n%s", what, p.Stderr)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}
