package telemetry

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// Standing is a node's view of its cluster.
type Standing struct {
	Nodes, Wanted int  // connected nodes, and configured nodes
	Quorum        bool // whether writes are possible
	Behind        int  // replicas on this node that are not current
}

// cluster collects the standing of this process, if it is a node, at each scrape.
type cluster struct {
	ask atomic.Pointer[func() Standing]
}

var standing cluster

// Cluster exports the standing of the node in this process. A later call replaces an
// earlier one.
func Cluster(ask func() Standing) { standing.ask.Store(&ask) }

// Describe implements prometheus.Collector.
func (c *cluster) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{clusterNodes, clusterWanted, clusterQuorum, clusterBehind} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *cluster) Collect(to chan<- prometheus.Metric) {
	ask := c.ask.Load()
	if ask == nil {
		return
	}
	now, quorum := (*ask)(), 0
	if now.Quorum {
		quorum = 1
	}
	for d, value := range map[*prometheus.Desc]int{clusterNodes: now.Nodes, clusterWanted: now.Wanted, clusterQuorum: quorum, clusterBehind: now.Behind} {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value))
	}
}
