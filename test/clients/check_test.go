package clients

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cairn/test/cairntest"
)

// TestRealLinters checks the document with and without authentication.
func TestRealLinters(t *testing.T) {
	t.Parallel()
	keyed := newServer(t)
	directory := node(t)
	open := cairntest.Up(t, "--data", "")
	for name, url := range map[string]string{"with keys": keyed.url, "without authentication": open.URL()} {
		document(t, url, directory)
		if out, err := run(t, directory, nil, "npx", "--no-install", "redocly", "lint", "openapi.json"); err != nil {
			t.Errorf("%s: Redocly: %v\n%s", name, err, out)
		}
		out, err := run(t, directory, nil, "npx", "--no-install", "spectral", "lint", "-r", "../spectral.json",
			"--fail-severity", "error", "openapi.json")
		if err != nil {
			t.Errorf("%s: Spectral: %v\n%s", name, err, out)
		}
	}
}

// accepted is a finding of Schemathesis that is not a defect.
type accepted struct {
	Check   string
	Matches string // regular expression that the text of a finding matches
	Reason  string
}

// scenario is the part of an event of Schemathesis that has its findings.
type scenario struct {
	ScenarioFinished *struct {
		Recorder struct {
			Label  string
			Checks map[string][]struct {
				Name, Status string
				Info         *struct {
					Failure struct{ Operation, Title, Message string }
				} `json:"failure_info"`
			}
			Interactions map[string]struct {
				Request struct {
					Method, URI string
					Body        content
				}
				Response struct {
					Status  int `json:"status_code"`
					Content content
				}
			}
		}
	}
	NonFatalError *struct {
		Value struct{ Type, Message string }
	}
}

// content is a body, which is encoded in Base64.
type content struct {
	Base64 string `json:"$base64"`
}

func (c content) String() string {
	text, _ := base64.StdEncoding.DecodeString(c.Base64)
	return string(text[:min(len(text), 2000)])
}

// findings returns the distinct failures of a run by their text.
func findings(t *testing.T, report string) (failures map[string]string, checks int) {
	t.Helper()
	file, err := os.Open(report)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	failures = map[string]string{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 256<<20)
	for lines.Scan() {
		var s scenario
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		if e := s.NonFatalError; e != nil {
			failures[e.Value.Type+" "+e.Value.Message] = "error"
		}
		if s.ScenarioFinished == nil {
			continue
		}
		for id, list := range s.ScenarioFinished.Recorder.Checks {
			for _, c := range list {
				checks++
				if c.Status == "success" || c.Info == nil {
					continue
				}
				x := s.ScenarioFinished.Recorder.Interactions[id]
				text := fmt.Sprintf("%s\n%s %s\nrequest: %s\nresponse: %d %s", c.Info.Failure.Title, c.Info.Failure.Operation,
					c.Info.Failure.Message, x.Request.Body, x.Response.Status, x.Response.Content)
				failures[text+"\n"+x.Request.Method+" "+x.Request.URI] = c.Name
			}
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return failures, checks
}

// TestRealSchemathesis fails for each finding that is not in testdata/schemathesis.json. It runs with
// CAIRN_TEST_SCHEMATHESIS=1 only: a faster machine reaches other requests in the same time, and may find more.
func TestRealSchemathesis(t *testing.T) {
	t.Parallel()
	if os.Getenv("CAIRN_TEST_SCHEMATHESIS") == "" {
		t.Skip("needs CAIRN_TEST_SCHEMATHESIS=1: it takes minutes")
	}
	s := newServer(t)
	directory, programs := python(t)
	text, err := os.ReadFile("testdata/schemathesis.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []accepted
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	// A watch has no end, and the other streams are short. A2A has its own errors, versions and conformance kit.
	env := []string{"SCHEMATHESIS_HOOKS=hooks", "PYTHONPATH=" + filepath.Dir(directory)}
	out, _ := run(t, directory, env, filepath.Join(programs, "schemathesis"), "--config-file", "../schemathesis.toml",
		"run", document(t, s.url, directory), "--url", s.url, "--header", "Authorization: Bearer "+s.key,
		"--checks", "all", "--seed", "1", "--max-time", "180", "--request-timeout", "30", "--continue-on-failure",
		"--exclude-path", "/watch", "--exclude-path-regex", "^/a2a", "--report", "ndjson", "--report-ndjson-path",
		"report.ndjson", "--no-color")
	failures, checks := findings(t, filepath.Join(directory, "report.ndjson"))
	if checks < 5000 {
		t.Errorf("%d checks were made:\n%s", checks, out)
	}
	shown := map[string]bool{}
	for text, check := range failures {
		if reason(list, check, text) != "" {
			continue
		}
		title, _, _ := strings.Cut(text, "\nrequest: ")
		if !shown[check+title] {
			t.Errorf("%s: %s", check, text)
		}
		shown[check+title] = true
	}
	t.Logf("%d checks, %d findings", checks, len(failures))
}

// reason returns why the finding is accepted; empty if it is not.
func reason(list []accepted, check, text string) string {
	for _, a := range list {
		if a.Check == check && regexp.MustCompile(a.Matches).MatchString(text) {
			return a.Reason
		}
	}
	return ""
}
