package telemetry

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// ClusterState is the state of the cluster as seen by one node.
type ClusterState struct {
	Nodes, Wanted int  // connected nodes, and configured nodes
	Quorum        bool // whether writes are possible
	Behind        int  // replicas on this node that are not current
}

// cluster collects the state of the cluster, if it is a node, at each scrape.
type cluster struct {
	state atomic.Pointer[func() ClusterState]
}

var clusterState cluster

// Cluster exports the state of the cluster. A later call replaces an
// earlier one.
func Cluster(state func() ClusterState) { clusterState.state.Store(&state) }

// Describe implements prometheus.Collector.
func (c *cluster) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{clusterNodes, clusterWanted, clusterQuorum, clusterBehind} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *cluster) Collect(to chan<- prometheus.Metric) {
	state := c.state.Load()
	if state == nil {
		return
	}
	now, quorum := (*state)(), 0
	if now.Quorum {
		quorum = 1
	}
	for d, value := range map[*prometheus.Desc]int{
		clusterNodes:  now.Nodes,
		clusterWanted: now.Wanted,
		clusterQuorum: quorum,
		clusterBehind: now.Behind,
	} {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value))
	}
}
