// Package telemetry defines Cairn's metrics (Prometheus) and traces (OpenTelemetry). It
// imports no other package of this module, so that all can use it. It defines all names
// and conventions. No content of a request, no tenant and no path is ever exported.
//
// Counters and histograms are registered at initialization. Functions record values and may be
// called concurrently; without a trace exporter, spans cost nothing.
package telemetry

import (
	"runtime"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Registry has all metrics of the process.
var Registry = prometheus.NewRegistry()

func init() {
	Registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}

// Build exports the running version.
func Build(version string) {
	buildInfo.Reset()
	buildInfo.WithLabelValues(version, runtime.Version()).Set(1)
}

// seconds are the buckets of all durations, from reads in memory to the longest answer of a model.
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

var scrapedMu sync.Mutex

// scraped registers a gauge whose value is read at each scrape. It replaces one with the same name
// and labels.
func scraped(name, help string, labels prometheus.Labels, value func() float64) {
	g := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "cairn", Name: name, Help: help, ConstLabels: labels},
		value)
	scrapedMu.Lock()
	defer scrapedMu.Unlock()
	Registry.Unregister(g) // the one with the same description
	Registry.MustRegister(g)
}
