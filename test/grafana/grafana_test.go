// Package grafana evaluates the dashboard and the alerts of deploy/grafana with the
// metrics of a running cluster. It is a separate module, because only it needs the
// query engine of Prometheus.
package grafana

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"go.yaml.in/yaml/v3"

	"cairn/bus/bustest"
	"cairn/test/cairntest"
	"cairn/test/wait"
)

const directory = "../../deploy/grafana/"

func TestMain(m *testing.M) { os.Exit(cairntest.Main(m)) }

// panels returns the expressions of the dashboard by panel.
func panels(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(directory + "dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, p := range dashboard.Panels {
		for i, target := range p.Targets {
			all[fmt.Sprintf("panel %s, query %d", p.Title, i+1)] = strings.ReplaceAll(target.Expr, "$__rate_interval", "1m")
		}
	}
	if len(all) < 20 {
		t.Fatalf("the dashboard has %d queries", len(all))
	}
	return all
}

// alerts returns the expressions of the alerts by name.
func alerts(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(directory + "alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			all["alert "+r.Alert] = r.Expr
		}
	}
	if len(all) < 10 {
		t.Fatalf("found %d alerts", len(all))
	}
	return all
}

// start starts a cluster of three nodes and a worker with a shared index. It returns the address
// of a node and the addresses of all metrics endpoints.
func start(t *testing.T) (node string, metrics []string) {
	t.Helper()
	cert, key := bustest.Certificate(t, t.TempDir(), 1)
	routes := []string{bustest.FreeAddress(t), bustest.FreeAddress(t), bustest.FreeAddress(t)}
	var all []*cairntest.Process
	for _, route := range routes {
		all = append(all, cairntest.Launch(cairntest.Command(cairntest.Program(t), nil, "up", "--http", "127.0.0.1:0",
			"--nats-listen",
			"127.0.0.1:0", "--data", t.TempDir(), "--model", "offline:", "--metrics", "127.0.0.1:0", "--render", "cairn.nobody",
			"--nats-tls-cert", cert, "--nats-tls-key", key, "--cluster", "c", "--cluster-secret", "s", "--cluster-listen", route,
			"--routes", strings.Join(routes, ","))))
	}
	t.Cleanup(func() {
		for _, p := range all {
			p.Kill()
			_ = p.Wait() // killed
		}
	})
	for _, p := range all {
		if err := p.WaitReady(); err != nil {
			t.Fatal(err)
		}
	}
	worker := cairntest.Launch(cairntest.Command(cairntest.Program(t), nil, "worker", "resolve", "--nats",
		find(t, all[0], `nats +(tls://\S+)`),
		"--nats-ca", cert, "--index", "http://127.0.0.1:1", "--metrics", "127.0.0.1:0"))
	all = append(all, worker)
	for _, p := range all {
		metrics = append(metrics, find(t, p, `url=(http://\S+/metrics)`))
	}
	return all[0].URL(), metrics
}

// find waits for a match of the pattern in the output of a process, and returns its group.
func find(t *testing.T, p *cairntest.Process, pattern string) (group string) {
	t.Helper()
	expression := regexp.MustCompile(pattern)
	wait.Until(t, "the process prints "+pattern, func() bool {
		m := expression.FindStringSubmatch(p.Stdout.String() + p.Stderr.String())
		if m != nil {
			group = m[1]
		}
		return m != nil
	})
	return group
}

// traffic sends requests, including some that fail.
func traffic(t *testing.T, node string) {
	t.Helper()
	for path, body := range map[string]string{
		"/register/tool":    `{"tool_data":{"tool_id":"a.b.c","description":"a tool"}}`,
		"/resolve/tools":    `{"tool_ids":["a.b.c"]}`,
		"/register/reindex": `{}`, "/resolve/skill": `{"query":"anything"}`,
	} {
		send(t, node+path, body)
	}
	const estate = `{"hosts":[{"site":"a"},{"site":"b"}]}`
	// every worker receives the estate again
	for _, estate := range []string{estate, estate, estate, estate, estate, "no JSON"} {
		q, err := json.Marshal(map[string]string{"query": "how many hosts per site?", "context": estate, "target": "H",
			"mode": "standard"})
		if err != nil {
			t.Fatal(err)
		}
		send(t, node+"/api/v1/analyze", string(q))
	}
}

func send(t *testing.T, url, body string) {
	t.Helper()
	res, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(io.Discard, res.Body)
	if _ = res.Body.Close(); err != nil {
		t.Fatal(err)
	}
}

// scrape returns the samples at a URL.
func scrape(t *testing.T, url string, timestamp model.Time) model.Vector {
	t.Helper()
	_, text := cairntest.Get(t, url)
	texts := expfmt.NewTextParser(model.UTF8Validation)
	families, err := texts.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var all model.Vector
	for _, f := range families {
		samples, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{Timestamp: timestamp}, f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, samples...)
	}
	return all
}

// memory is the storage of the query engine: series by metric name and labels. It replaces
// util/teststorage, which imports the client libraries of all clouds.
type memory map[string]*series

type series struct {
	labels  labels.Labels
	samples []chunks.Sample // by time
}

func (m memory) add(s *model.Sample) {
	key := s.Metric.String()
	if m[key] == nil {
		b := labels.NewBuilder(labels.EmptyLabels())
		for name, value := range s.Metric {
			b.Set(string(name), string(value))
		}
		m[key] = &series{labels: b.Labels()}
	}
	m[key].samples = append(m[key].samples, sample{timestamp: int64(s.Timestamp), value: float64(s.Value)})
}

// Querier implements storage.Queryable. The engine selects the samples of the time range.
func (m memory) Querier(int64, int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: func(_ bool, _ *storage.SelectHints,
		matchers ...*labels.Matcher) storage.SeriesSet {
		selected := &seriesSet{SeriesSet: storage.EmptySeriesSet()}
		for _, s := range m {
			if !slices.ContainsFunc(matchers, func(w *labels.Matcher) bool { return !w.Matches(s.labels.Get(w.Name)) }) {
				selected.list = append(selected.list, storage.NewListSeries(s.labels, s.samples))
			}
		}
		return selected
	}}, nil
}

// sample is a chunks.Sample of a number.
type sample struct {
	chunks.Sample
	timestamp int64
	value     float64
}

func (s sample) T() int64               { return s.timestamp }
func (sample) ST() int64                { return 0 }
func (s sample) F() float64             { return s.value }
func (sample) Type() chunkenc.ValueType { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample    { return s }

// seriesSet is a storage.SeriesSet of a list, without errors.
type seriesSet struct {
	storage.SeriesSet
	list []storage.Series
	next int
}

func (s *seriesSet) Next() bool {
	s.next++
	return s.next <= len(s.list)
}

func (s *seriesSet) At() storage.Series { return s.list[s.next-1] }

// TestQueriesHaveData checks that a cluster with traffic feeds every query of the dashboard,
// and every metric of the alerts.
func TestQueriesHaveData(t *testing.T) {
	node, metrics := start(t)
	store := memory{}
	const rounds, interval = 5, 15 * time.Second
	began := time.Now().Add(-time.Hour).Truncate(time.Second)
	for round := range rounds {
		traffic(t, node)
		timestamp := model.TimeFromUnix(began.Add(time.Duration(round) * interval).Unix())
		for _, url := range metrics {
			for _, s := range scrape(t, url, timestamp) {
				s.Metric["instance"] = model.LabelValue(url)
				store.add(s)
			}
		}
	}
	syntax := parser.NewParser(parser.Options{})
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Minute, Parser: syntax})
	end := began.Add((rounds - 1) * interval)
	evaluate := func(expr string) int {
		t.Helper()
		q, err := engine.NewInstantQuery(context.Background(), store, nil, expr, end)
		if err != nil {
			t.Errorf("%s: %v", expr, err)
			return 0
		}
		defer q.Close()
		result := q.Exec(t.Context())
		vector, err := result.Vector()
		if err != nil {
			t.Errorf("%s: %v", expr, err)
		}
		numbers := 0
		for _, s := range vector {
			if !math.IsNaN(s.F) {
				numbers++
			}
		}
		return numbers
	}
	for name, expr := range panels(t) {
		if evaluate(expr) == 0 {
			t.Errorf("%s returns nothing: %s", name, expr)
		}
	}
	for name, expr := range alerts(t) {
		_ = evaluate(expr) // an alert that does not fire returns nothing
		parsed, err := syntax.ParseExpr(expr)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		parser.Inspect(parsed, func(n parser.Node, _ []parser.Node) error {
			if s, ok := n.(*parser.VectorSelector); ok && evaluate(s.Name) == 0 {
				t.Errorf("%s: no process has the metric %s", name, s.Name)
			}
			return nil
		})
	}
}
