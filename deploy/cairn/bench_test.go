package main

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"cairn/deploy/load"
	"cairn/test/wait"
)

// benched reads the result that bench wrote to file.
func benched(t *testing.T, file string) (r load.Result) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// nothingLeft checks that the tenant of the load has no skills left. A busy machine sheds load.
func nothingLeft(t *testing.T, s *running, out string) {
	t.Helper()
	tenant := regexp.MustCompile(`bench-\w{8}`).FindString(out)
	got := do(t, "", "get", "skills", "--url", s.http, "--tenant", tenant, "--scope", "tenant", "-ojson")
	if tenant == "" || got.code != 0 || strings.Contains(got.out, "skill_id") {
		t.Errorf("the tenant %q has %+v", tenant, got)
	}
}

func TestBench(t *testing.T) {
	t.Parallel()
	s := startIsolated(t, "--model", "offline:")
	for operation, rows := range map[string][]string{
		"tags":     {"tags-write", "tags-read", "all"},
		"by-id":    {"by-id"},
		"search":   {"search"},
		"register": {"register"},
		"analyze":  {"analyze first event", "analyze"},
		"mix":      {"tags-write", "tags-read", "by-id", "search", "register", "analyze first event", "analyze", "all"},
	} {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "a.json")
			got := do(t, "", "bench", operation, "--url", s.http, "--rate", "20", "--for", "1s", "--warm", "100ms", "--skills",
				"40",
				"--max-errors", "1", "--json", file) // a busy machine sheds load
			if got.code != 0 || strings.Contains(got.err, "cairn:") { // it may report retries
				t.Fatalf("%+v", got)
			}
			r := benched(t, file)
			var names []string
			for _, m := range r.Operations {
				names = append(names, m.Operation)
				if m.Failed() > m.Refused() || m.Count == 0 || m.Latency.Count()+m.Refused() != m.Count ||
					!strings.Contains(got.out, "\n"+m.Operation+" ") {
					t.Errorf("%s: %d requests, errors %v\n%s", m.Operation, m.Count, m.Errors, got.out)
				}
			}
			if strings.Join(names, ",") != strings.Join(rows, ",") || r.Operations[len(rows)-1].Count != 20 {
				t.Errorf("%v, the last with %d requests; want %v and 20", names, r.Operations[len(rows)-1].Count, rows)
			}
			if e := r.Environment; e.URL != s.http || e.Version == "" || e.CPUs == 0 || e.Backends["model"] != "offline:" ||
				e.Backends["index"] != "embedded:" {
				t.Errorf("%+v", e)
			}
			nothingLeft(t, s, got.out)
		})
	}
}

func TestBenchFindsTheHighestRate(t *testing.T) {
	t.Parallel()
	s := startIsolated(t, "--model", "offline:")
	file := filepath.Join(t.TempDir(), "a.json")
	got := do(t, "", "bench", "by-id", "--url", s.http, "--rate", "max", "--max-p99", "1ns", "--step", "10ms", "--for",
		"100ms", "--warm", "0s", "--skills", "1", "--json", file)
	if got.code != 0 || !strings.Contains(got.out, "is not sustained within p99 1ns") ||
		!strings.Contains(got.err, "50/s: p99 ") {
		t.Errorf("%+v", got)
	}
	if r := benched(t, file); r.Rate != 1 || len(r.Steps) < 6 || r.Steps[0].Held {
		t.Errorf("rate %g after %+v", r.Rate, r.Steps)
	}
}

func TestBenchIsInterrupted(t *testing.T) {
	t.Parallel()
	s := startIsolated(t, "--model", "offline:")
	address, err := url.Parse(s.http)
	if err != nil {
		t.Fatal(err)
	}
	began := make(chan struct{})
	var once sync.Once
	proxy := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/tags/write" {
			once.Do(func() { close(began) })
		}
		httputil.NewSingleHostReverseProxy(address).ServeHTTP(w, r)
	})
	file := filepath.Join(t.TempDir(), "a.json")
	p := begin(t, program("bench", "tags", "--url", proxy, "--rate", "50", "--for", "1h",
		"--warm", "0s", "--skills", "3", "--json", file))
	select {
	case <-began:
	case <-time.After(wait.Timeout):
		t.Fatalf("no load:\n%s", p.output())
	}
	if err := p.Cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := p.waitExit(t); code != exitInterrupted || !strings.Contains(p.output(), "; interrupted") {
		t.Errorf("exit code %d\n%s", code, p.output())
	}
	if r := benched(t, file); !r.Interrupted {
		t.Error("the file does not report the interruption")
	}
	nothingLeft(t, s, p.output())
}

// TestBenchCountsErrors checks that failed requests are counted by code, cause an
// exit code above --max-errors, and are excluded from latency.
func TestBenchCountsErrors(t *testing.T) {
	t.Parallel()
	for may, code := range map[string]int{"0.001": 1, "0.49": 1, "0.5": 0} {
		t.Run(may, func(t *testing.T) {
			t.Parallel()
			c := &flakyServer{answer: func(_ string, before int32) (int, string) {
				if before%2 == 0 {
					return 503, noVectors
				}
				return 200, soundAnswer
			}}
			c.registered.Store(5)
			file := filepath.Join(t.TempDir(), "a.json")
			got := do(t, "", "bench", "search", "--url", c.start(t), "--rate", "200", "--for", "500ms", "--warm", "0s",
				"--skills", "3", "--json", file, "--max-errors", may)
			if got.code != code || !regexp.MustCompile(`(?m)^search .* 50 +503 CE-011: 50$`).MatchString(got.out) {
				t.Errorf("%+v", got)
			}
			if reported := strings.Contains(got.err,
				"50 of 100 search requests failed; --max-errors "+may); reported != (code == 1) {
				t.Errorf("%+v", got)
			}
			if m := benched(t, file).Operations[0]; m.Refused() != 50 || m.Latency.Count() != 50 {
				t.Errorf("%d refused, %d latencies", m.Refused(), m.Latency.Count())
			}
			if n := c.removed.Load(); n != 45 {
				t.Errorf("%d removals; want 44, and one again", n)
			}
		})
	}
}

// TestBenchUnwritableOutput checks that a file that cannot be written is reported
// before the first registration, and that an existing file is replaced.
func TestBenchUnwritableOutput(t *testing.T) {
	t.Parallel()
	c := &flakyServer{answer: func(string, int32) (int, string) { return 200, soundAnswer }}
	url, dir := c.start(t), t.TempDir()
	got := do(t, "", "bench", "search", "--url", url, "--json", filepath.Join(dir, "none", "a"))
	if got.code != exitUsage || got.out != "" || !strings.Contains(got.err, "no such file") || c.registered.Load() > 0 {
		t.Errorf("%+v, %d registered", got, c.registered.Load())
	}
	c.registered.Store(5)
	write(t, dir, "a.json", strings.Repeat("long ", 100_000))
	got = do(t, "", "bench", "search", "--url", url, "--rate", "100", "--for", "100ms", "--warm", "0s", "--skills", "3",
		"--json", filepath.Join(dir, "a.json"))
	if r := benched(t, filepath.Join(dir, "a.json")); got.code != 0 || r.Operations[0].Count != 10 {
		t.Errorf("%+v", got)
	}
}

func TestBenchInvalidFlags(t *testing.T) {
	t.Parallel()
	refuse(t, []refusal{
		{"an unknown operation", []string{"dance"}, "OPERATION must be tags, by-id,"},
		{"two operations", []string{"tags", "search"}, "expected one OPERATION, got 2"},
		{"no rate", []string{"--rate", "fast"}, "--rate must be"},
		{"a rate that is not a number", []string{"--rate", "NaN"}, "--rate must be"},
		{"a rate below the minimum", []string{"--rate", "1e-12"}, "--rate must be"},
		{"no time", []string{"--for", "0s"}, "--for, --step and --max-p99 must be greater than 0"},
		{"a negative time", []string{"--warm", "-1s"}, "--warm at least 0"},
		{"a share that is not a number", []string{"--max-errors", "NaN"}, "--max-errors must be between 0 and 1"},
		{"a share above 1", []string{"--max-errors", "1.5"}, "--max-errors must be between 0 and 1"},
		{"no connection", []string{"--connections", "0"}, "--connections: expected at least 1"},
		{"too many connections", []string{"--connections", "9999"}, "--connections must be at most 512"},
		{"no skill", []string{"--skills", "0"}, "--skills: expected at least 1"},
	}, "bench")
}
