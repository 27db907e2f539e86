package telemetry

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// Standing is how a node sees its cluster.
type Standing struct {
	Nodes, Wanted int  // that are connected, and that there are to be
	Quorum        bool // something can be kept
	Behind        int  // copies on this node that are not current
}

// cluster is that of this process, if it is a node of one. How it stands is
// asked at each scrape.
type cluster struct {
	ask atomic.Pointer[func() Standing]
}

var standing cluster

// Cluster has it told how the node stands that this process is. Of several,
// the last one is told.
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
