package telemetry

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Registry has all metrics of the process.
var Registry = prometheus.NewRegistry()

func init() {
	Registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), &certificatesInUse,
		&clusterState, &memoryBudgets)
}

// Build exports the running version.
func Build(version string) {
	buildInfo.Reset()
	buildInfo.WithLabelValues(version, runtime.Version()).Set(1)
}

// seconds are the buckets of all durations, from reads in memory to the longest answer
// of a model.
var seconds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120}

// durations is a histogram with the buckets above. Native histograms would double the
// cost of the metrics of a request.
func durations(name, help string, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: "cairn", Name: name, Help: help, Buckets: seconds,
	}, labels)
	Registry.MustRegister(h)
	return h
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "cairn", Name: name, Help: help}, labels)
	Registry.MustRegister(c)
	return c
}

func gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "cairn", Name: name, Help: help}, labels)
	Registry.MustRegister(g)
	return g
}

// described is a gauge that is evaluated at each scrape.
func described(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("cairn_"+name, help, labels, nil)
}
