package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn/test/cairntest"
	"cairn/test/wait"
)

func TestUsageErrorsAreOneLine(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	taken := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(taken.Close)
	address := strings.TrimPrefix(taken.URL, "http://")
	quiet := []string{"up", "--http", "127.0.0.1:0", "--nats-listen", "", "--data", ""}
	for _, row := range []struct {
		name    string
		args    []string
		message string
	}{
		{"an invalid duration", []string{"up", "--tag-ttl", "3"}, "expected a duration"},
		{"a retention of less than two minutes", append(quiet, "--audit-retention", "1m"),
			"--audit-retention: expected at least 2m0s"},
		{"a time to live of less than a second", append(quiet, "--tag-ttl", "1ms"), "--tag-ttl: expected at least 1s"},
		{"an unknown sync policy", append(quiet, "--sync", "never"), "expected 1s or always"},
		{"a negative drain timeout", []string{"edge", "--drain", "-1s"}, "--drain: expected at least 0s"},
		{"no slots", append(quiet, "--slots", "0"), "--slots: expected at least 1"},
		{"an unknown log format", []string{"up", "--log-format", "xml"}, "expected text or json"},
		{"an invalid address", []string{"up", "--http", "here"}, "expected host:port"},
		{"a non-loopback address", []string{"up", "--http", "0.0.0.0:0"}, "--insecure"},
		{"every address", []string{"up", "--http", ":0"}, "--insecure"},
		{"a non-loopback address for NATS", []string{"up", "--http", "127.0.0.1:0", "--nats-listen", "0.0.0.0:0"},
			"--insecure"},
		{"an unknown authentication method", append(quiet, "--auth", "stars"),
			"--auth: expected off, keys or oidc=ISSUER,AUDIENCE"},
		{"an allowed origin with a path", append(quiet, "--cors-origin", "https://app.example.com/"),
			"--cors-origin: expected *, or an origin"},
		{"a publisher without a domain", append(quiet, "--ard-publisher", "localhost"),
			"--ard-publisher, --ard-url: \"localhost\": expected a fully qualified domain name"},
		{"another URL of the catalog", append(quiet, "--ard-publisher", "example.com", "--ard-url", "x"),
			"expected a URL such as https://cairn.example.com"},
		{"a URL without a publisher", append(quiet, "--ard-url", "https://cairn.example.com"),
			"--ard-url requires --ard-publisher"},
		{"every origin without authentication", append(quiet, "--cors-origin", "*"), "--cors-origin: * requires --auth"},
		{"every origin and another", append(quiet, "--cors-origin", "* https://app.example.com"),
			"--cors-origin: expected \"*\" alone"},
		{"limits without authentication", append(quiet, "--rate-limit", "3"), "require --auth"},
		{"a limit that is not a number", append(quiet, "--auth", "keys", "--rate-limit", "NaN"),
			"expected a number of at least 0"},
		{"an infinite limit", append(quiet, "--auth", "keys", "--rate-limit", "+Inf"), "expected a number of at least 0"},
		{"a negative limit", append(quiet, "--auth", "keys", "--rate-limit", "-1"), "expected a number of at least 0"},
		{"a certificate without its key", append(quiet, "--tls-cert", file), "--tls-cert and --tls-key"},
		{"an invalid certificate", append(quiet, "--tls-cert", file, "--tls-key", file),
			"failed to find any PEM data in certificate"},
		{"a key for NATS without its certificate", append(quiet, "--nats-tls-key", file),
			"--nats-tls-cert and --nats-tls-key: expected both or none"},
		{"a non-loopback address for metrics", append(quiet, "--metrics", "0.0.0.0:0"),
			"--metrics 0.0.0.0:0 is not a loopback address"},
		{"a worker's too", []string{"worker", "--metrics", ":0"}, "--metrics-insecure"},
		{"profiles without a listener", append(quiet, "--pprof"), "--metrics"},
		{"a port in use", []string{"up", "--http", address}, "address already in use"},
		{"a NATS port in use", append(quiet, "--nats-listen", address), "(--nats-listen): listen tcp "},
		{"an invalid data directory", append(quiet, "--data", filepath.Join(file, "data")), "not a directory"},
		{"an unknown model", append(quiet, "--model", "oracle:"), `model "oracle:"`},
		{"an unknown index", append(quiet, "--index", "cards:"), `index "cards:"`},
		{"an unknown role", []string{"worker", "cook"}, "expected tags, register, resolve, analyze"},
		{"an embedded server of another process", []string{"worker", "--nats", "embedded:x"}, "embedded"},
		{"nothing to apply", []string{"apply"}, "expected files or directories"},
		{"a missing file", []string{"apply", filepath.Join(file, "x.json")}, "not a directory"},
		{"a directory without records", []string{"apply", t.TempDir()}, "no .json"},
		{"a server that is not Cairn", []string{"status", "--url", taken.URL}, "not a Cairn error"},
		{"an invalid URL", []string{"status", "--url", "ftp://here"}, "expected http://HOST:PORT"},
		{"a question without an estate", []string{"ask", "how many?"}, "--estate is required"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := do(t, "", row.args...)
			if got.code == 0 || got.out != "" || strings.Count(got.err, "\n") != 1 || !strings.Contains(got.err, row.message) {
				t.Errorf("%v: exit %d, stdout %q, stderr %q; want one line that contains %q", row.args, got.code, got.out, got.err,
					row.message)
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, variable, value string
		args                  []string
		message               string
	}{
		{"a variable sets the flag", "CAIRN_URL", "http://127.0.0.1:2", []string{"status"}, "at http://127.0.0.1:2 "},
		{"a flag takes precedence", "CAIRN_URL", "http://127.0.0.1:2", []string{"status", "--url", "http://127.0.0.1:3"},
			"at http://127.0.0.1:3 "},
		{"dashes are underscores", "CAIRN_LOG_FORMAT", "xml", []string{"up"}, `got "xml"`},
		{"an error names the variable", "CAIRN_TAG_TTL", "soon", []string{"up"}, "environment CAIRN_TAG_TTL"},
		{"an empty variable is absent", "CAIRN_TAG_TTL", "", []string{"up", "--log-format", "xml"}, `got "xml"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			cmd := program(row.args...)
			cmd.Env = append(cmd.Env, row.variable+"="+row.value)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), row.message) {
				t.Errorf("%v, output %q; want %q", err, out, row.message)
			}
		})
	}
}

func TestDataDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	first := startIsolated(t, "--data", dir)
	do(t, "", "apply", "--url", first.http, "../examples/knowledge/global").must(t)
	second := do(t, "", "up", "--http", "127.0.0.1:0", "--nats-listen", "", "--data", dir)
	if second.code != 1 || !strings.Contains(second.err, "is locked by another process") {
		t.Errorf("a second process on the directory: %+v", second)
	}
	first.signal(t)
	if code := first.waitExit(t); code != 0 || !strings.Contains(first.output(), "Stopped.") {
		t.Errorf("exit %d after SIGTERM:\n%s", code, first.output())
	}
	again := startIsolated(t, "--data", dir)
	got := do(t, "", "resolve", "--url", again.http, "network.vlan_lookup")
	if got.code != 0 || !strings.Contains(got.out, "netmap.vlans.list") {
		t.Errorf("after a restart: %+v", got)
	}
}

func TestSecondSignalKills(t *testing.T) {
	t.Parallel()
	model := cairntest.NewSlowModel(t, "")
	s := startIsolated(t, "--model", model.URL, "--drain", "1m")
	question := program("ask", "--url", s.http, "--estate", "../examples/estate.json", "how many hosts?")
	if err := question.Start(); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the model has the question", func() bool { return model.Waiting() > 0 })
	s.signal(t)
	s.waitForOutput(t, "Shutting down")
	if strings.Contains(s.output(), "Stopped.") {
		t.Errorf("stopped with a request in flight:\n%s", s.output())
	}
	s.signal(t)
	if code := s.waitExit(t); code != -1 {
		t.Errorf("exit %d after a second signal; want termination by the signal", code)
	}
	if err := question.Wait(); err == nil {
		t.Error("the unanswered question ended without an error")
	}
}
