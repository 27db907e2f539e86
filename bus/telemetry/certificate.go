package telemetry

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// certificates are those that this process shows. When they end is asked at each
// scrape: their files may be new.
type certificates struct{ ends sync.Map } // func() time.Time, by what shows it

// shown are those of this process.
var shown certificates

// Certificate has it told when the certificate ends that this process shows as
// an http or a nats server. Of several, the last one is told.
func Certificate(of string, ends func() time.Time) { shown.ends.Store(of, ends) }

// Describe implements prometheus.Collector.
func (c *certificates) Describe(to chan<- *prometheus.Desc) { to <- certificateEnd }

// Collect implements prometheus.Collector.
func (c *certificates) Collect(to chan<- prometheus.Metric) {
	for of, ends := range c.ends.Range {
		at := ends.(func() time.Time)()
		to <- prometheus.MustNewConstMetric(certificateEnd, prometheus.GaugeValue, float64(at.Unix()), of.(string))
	}
}
