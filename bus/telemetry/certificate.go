package telemetry

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// certificates are the TLS certificates in use. Expiry is read at each scrape, as
// files may be replaced.
type certificates struct{ ends sync.Map } // func() time.Time, by server

// certificatesInUse are those of this process.
var certificatesInUse certificates

// Certificate exports the expiry of the certificate of the process's http or nats
// server. A later call for the same server replaces the earlier one.
func Certificate(of string, ends func() time.Time) { certificatesInUse.ends.Store(of, ends) }

// Describe implements prometheus.Collector.
func (c *certificates) Describe(to chan<- *prometheus.Desc) { to <- certificateEnd }

// Collect implements prometheus.Collector.
func (c *certificates) Collect(to chan<- prometheus.Metric) {
	for of, ends := range c.ends.Range {
		at := ends.(func() time.Time)()
		to <- prometheus.MustNewConstMetric(certificateEnd, prometheus.GaugeValue, float64(at.Unix()), of.(string))
	}
}
