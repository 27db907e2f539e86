package telemetry

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// memory are the memory budgets of the process, by name.
type memory struct{ budgets sync.Map } // budget

type budget struct {
	limit int64
	used  func() int64
}

var memoryBudgets memory

// MemoryBudget exports the limit and the use of a memory budget, in bytes. A later
// call for the same budget replaces the earlier one.
func MemoryBudget(name string, limit int64, used func() int64) {
	memoryBudgets.budgets.Store(name, budget{limit, used})
}

// Describe implements prometheus.Collector.
func (m *memory) Describe(to chan<- *prometheus.Desc) {
	to <- memoryUsed
	to <- memoryLimit
}

// Collect implements prometheus.Collector.
func (m *memory) Collect(to chan<- prometheus.Metric) {
	for name, b := range m.budgets.Range {
		b := b.(budget)
		to <- prometheus.MustNewConstMetric(memoryUsed, prometheus.GaugeValue, float64(b.used()), name.(string))
		to <- prometheus.MustNewConstMetric(memoryLimit, prometheus.GaugeValue, float64(b.limit), name.(string))
	}
}
