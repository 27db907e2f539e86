package main

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"cairn/bus/bustest"
	"cairn/test/cairntest"
)

// alerts are the alert rules of deploy/grafana.
type alerts struct {
	Groups []struct {
		Rules []struct {
			Alert, Expr string
			For         string
			Labels      struct{ Severity string }
			Annotations struct {
				Summary, Runbook string
				URL              string `yaml:"runbook_url"`
			}
		}
	}
}

// dashboard is the dashboard of deploy/grafana.
type dashboard struct {
	Panels []struct {
		Title   string
		Targets []struct{ Expr string }
	}
}

// read decodes a file of deploy/grafana.
func read(t *testing.T, name string, decode func([]byte, any) error, into any) {
	t.Helper()
	text, err := os.ReadFile("../grafana/" + name)
	if err == nil {
		err = decode(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// expressions returns all PromQL expressions of deploy/grafana by panel or alert.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	metrics := map[string]string{}
	var a alerts
	read(t, "alerts.yaml", yaml.Unmarshal, &a)
	for _, g := range a.Groups {
		for _, r := range g.Rules {
			metrics["alert "+r.Alert] = r.Expr
			if r.Annotations.Summary == "" || r.Annotations.Runbook == "" || r.Labels.Severity == "" || r.For == "" {
				t.Errorf("alert %s: want for, severity, summary and runbook", r.Alert)
			}
		}
	}
	var d dashboard
	read(t, "dashboard.json", json.Unmarshal, &d)
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			metrics["panel "+p.Title+": "+target.Expr] = target.Expr
		}
	}
	if len(metrics) < 30 {
		t.Fatalf("found %d expressions", len(metrics))
	}
	return metrics
}

var (
	sample   = regexp.MustCompile(`(?m)^([a-z_]+)(?:\{(.*)\})? `)
	label    = regexp.MustCompile(`([a-z_]+)(?:=~|!~|!=|=)"`)
	metric   = regexp.MustCompile(`\b((?:cairn|go|process)_[a-z_]+)(?:\{([^}]*)\})?`)
	grouping = regexp.MustCompile(`\bby \(([^)]*)\)`)
)

// exposed returns the labels of each metric in the scrapes.
func exposed(scrapes ...string) map[string][]string {
	queries := map[string][]string{}
	for _, m := range sample.FindAllStringSubmatch(strings.Join(scrapes, ""), -1) {
		for _, l := range label.FindAllStringSubmatch(m[2], -1) {
			queries[m[1]] = append(queries[m[1]], l[1])
		}
		queries[m[1]] = append(queries[m[1]], "instance") // added by Prometheus
	}
	return queries
}

func scrape(t *testing.T, url string) string {
	t.Helper()
	status, body := cairntest.Request(t, "GET", url, "")
	if status != http.StatusOK {
		t.Fatalf("%s: %d", url, status)
	}
	return body
}

// found returns the submatch of the pattern in the output of the process.
func (p *running) found(t *testing.T, pattern string) string {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(p.output())
	if m == nil {
		t.Fatalf("no %s in\n%s", pattern, p.output())
	}
	return m[1]
}

// TestRunbook checks that every alert links to its section of the runbook, and that every
// section has an alert.
func TestRunbook(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile("../../edge/docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, runbook, ok := strings.Cut(string(manual), "\n## Runbook\n")
	if !ok {
		t.Fatal("the manual has no runbook")
	}
	runbook, _, _ = strings.Cut(runbook, "\n## ")
	var sections, names []string
	for _, m := range regexp.MustCompile(`(?m)^### (.+)$`).FindAllStringSubmatch(runbook, -1) {
		sections = append(sections, m[1])
	}
	var a alerts
	read(t, "alerts.yaml", yaml.Unmarshal, &a)
	for _, g := range a.Groups {
		for _, r := range g.Rules {
			names = append(names, r.Alert)
			want := "{{ $externalLabels.cairn_url }}/docs/operations#" + strings.ToLower(r.Alert)
			if r.Annotations.URL != want {
				t.Errorf("alert %s has the runbook_url %q, want %q", r.Alert, r.Annotations.URL, want)
			}
		}
	}
	if diff := cmp.Diff(names, sections); diff != "" {
		t.Errorf("sections of the runbook (-alerts +sections):\n%s", diff)
	}
	page := scrape(t, shared(t)+"/docs/operations")
	for _, name := range names {
		if !strings.Contains(page, `id="`+strings.ToLower(name)+`"`) {
			t.Errorf("the served runbook has no section %s", name)
		}
	}
}

// TestDashboardAndAlerts checks that a running Cairn exposes every metric and label that
// the dashboard and the alerts use.
func TestDashboardAndAlerts(t *testing.T) {
	t.Parallel()
	cert, secret := bustest.Certificate(t, t.TempDir(), 1)
	up := startIsolated(t, "--model", "offline:", "--metrics", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0",
		"--nats-tls-cert", cert, "--nats-tls-key", secret, "--render", "cairn.nobody")
	url := up.found(t, ` http +(http://\S+)`)
	for _, args := range [][]string{
		{"apply", "../examples/knowledge"}, {"search", "which volumes are nearly full?"},
		{"ask", "--estate", "../examples/estate.json", "how many hosts?"},
	} {
		if got := do(t, "", append(args, "--url", url)...); got.code != 0 {
			t.Fatalf("%v: %+v", args, got)
		}
	}
	w := begin(t, program("worker", "resolve", "--nats", up.found(t, `nats +(tls://\S+)`),
		"--nats-ca", cert,
		"--index", "http://127.0.0.1:1", "--metrics", "127.0.0.1:0"))
	w.waitForOutput(t, ": resolve on ")

	const address = `url=(http://\S+/metrics)`
	node := begin(t, program("up", "--http", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0", "--data",
		t.TempDir(), "--metrics", "127.0.0.1:0",
		"--cluster", "c", "--cluster-listen", "127.0.0.1:0", "--routes", "127.0.0.1:1,127.0.0.1:2"))
	node.waitForOutput(t, "is waiting for a quorum")
	metrics := exposed(scrape(t, up.found(t, address)), scrape(t, w.found(t, address)), scrape(t, node.found(t, address)))
	for who, expr := range expressions(t) {
		for _, m := range metric.FindAllStringSubmatch(expr, -1) {
			labels, ok := metrics[m[1]]
			if !ok {
				t.Errorf("%s: no metric %s", who, m[1])
			}
			for _, l := range label.FindAllStringSubmatch(m[2], -1) {
				if !slices.Contains(labels, l[1]) {
					t.Errorf("%s: %s has no label %s", who, m[1], l[1])
				}
			}
			for _, g := range grouping.FindAllStringSubmatch(expr, -1) {
				for _, l := range strings.Split(g[1], ", ") {
					if !slices.Contains(labels, l) {
						t.Errorf("%s: %s has no label %s", who, m[1], l)
					}
				}
			}
		}
	}
	if res := scrape(t, strings.TrimSuffix(w.found(t, address), "metrics")+"health/ready"); !strings.Contains(res,
		`"ok"`) {
		t.Errorf("the worker is not ready: %s", res)
	}
	if status, _ := cairntest.Request(t, "GET", url+"/metrics", ""); status != http.StatusNotFound {
		t.Errorf("/metrics beside --metrics: %d", status)
	}
}
