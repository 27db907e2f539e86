package telemetry

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// All metrics, except those of the Go runtime and the process.
var (
	buildInfo = gauge("build_info", "Always 1; labels identify the build.", "version", "goversion")

	httpDuration = durations("http_request_duration_seconds",
		"Duration of HTTP requests; that of a stream lasts until its end.", "method",
		"route", "status")
	HTTPRefused = counter("http_refused_total", "Requests refused by an edge under overload.").WithLabelValues()
	httpStreams = gauge("http_streams_open", "Open event streams.").WithLabelValues()

	natsDuration = durations("nats_request_duration_seconds",
		"Duration of the requests of a worker; status is the HTTP status, or 400 for any fault of the caller.",
		"subject", "status")
	NoResponders = counter("nats_no_responders_total", "Requests without responders.", "subject")
	natsRefused  = counter("nats_refused_total",
		"Requests refused by a worker at its limit or under overload; callers retry on others.",
		"subject")
	Connections       = gauge("nats_connections", "Established NATS connections.").WithLabelValues()
	ConnectionsWanted = gauge("nats_connections_wanted", "Configured NATS connections.").WithLabelValues()
	firstEvent        = durations("stream_first_event_seconds", "Time from a stream's request to its first event.",
		"subject")

	CatalogRevision    = gauge("catalog_revision", "Watermark: the highest catalog revision applied or seen.", "of")
	IndexLag           = gauge("index_lag_changes", "Catalog changes not yet searchable.", "index")
	RecordsQuarantined = gauge("records_quarantined", "Quarantined records: unreadable, or rejected by the index.", "by")
	BucketWritable     = gauge("bucket_writable", "1 if NATS stored the last fence of a worker in the bucket, else 0.",
		"bucket")
	CircuitState = gauge("circuit_state", "The circuit breaker of a backend: 0 closed, 1 half open, 2 open.",
		"backend")

	modelDuration = durations("model_request_duration_seconds",
		"Requests to language models, until the end of their message.",
		"model", "outcome")
	modelTokens  = counter("model_tokens_total", "Tokens processed by language models.", "model", "type")
	toolDuration = durations("tool_duration_seconds", "Calls of tools by a model.", "tool")

	estateLookups = counter("estate_cache_requests_total", "Lookups in the estate cache by result.", "result")
	EstateBytes   = gauge("estate_cache_bytes", "Size of cached estates in bytes.").WithLabelValues()
)

// outcomes is a histogram of durations by status, for fixed values of the other labels.
type outcomes struct {
	durations prometheus.ObserverVec
	status    int                 // expected
	expected  prometheus.Observer // of the expected status
}

func outcomesOf(h *prometheus.HistogramVec, status int, labels prometheus.Labels) outcomes {
	durations := h.MustCurryWith(labels)
	return outcomes{durations, status, durations.WithLabelValues(strconv.Itoa(status))}
}

// Count counts a request with its status and duration.
func (o *outcomes) Count(status int, took time.Duration) {
	observer := o.expected
	if status != o.status {
		observer = o.durations.WithLabelValues(strconv.Itoa(status))
	}
	observer.Observe(took.Seconds())
}

// StreamOpened counts a stream that an edge sends, until end is called.
func StreamOpened() (end func()) {
	httpStreams.Inc()
	return httpStreams.Dec
}

// EstateLookup counts a lookup in the estate cache. hit reports whether it was cached.
func EstateLookup(hit bool) {
	result := "miss"
	if hit {
		result = "hit"
	}
	estateLookups.WithLabelValues(result).Inc()
}

// Slots exports the concurrency limit of a service and how many slots its requests hold. A later
// call for the same service replaces the earlier one.
func Slots(service string, limit int, used func() int64) {
	labels := prometheus.Labels{"service": service}
	scraped("service_slots", "Concurrency limit of the service.", labels, func() float64 { return float64(limit) })
	scraped("service_requests_in_flight", "Requests in flight.", labels, func() float64 { return float64(used()) })
}

// Certificate exports the expiry of the certificate of the process's http or nats
// server. A later call for the same server replaces the earlier one.
func Certificate(owner string, ends func() time.Time) {
	scraped("certificate_not_after_timestamp_seconds",
		"Expiry of the TLS certificate in use, in seconds since the Unix epoch.",
		prometheus.Labels{"of": owner}, func() float64 { return float64(ends().Unix()) })
}

// MemoryBudget exports the limit and the use of a memory budget, in bytes. A later
// call for the same budget replaces the earlier one.
func MemoryBudget(name string, limit int64, used func() int64) {
	budget := prometheus.Labels{"budget": name}
	scraped("memory_budget_used_bytes",
		"Bytes reserved of a memory budget: analysis is --analysis-memory, body is --body-memory.",
		budget, func() float64 { return float64(used()) })
	scraped("memory_budget_bytes", "Size of a memory budget in bytes.", budget, func() float64 { return float64(limit) })
}

// ClusterState is the state of the cluster as seen by one node.
type ClusterState struct {
	Nodes, Wanted int // connected nodes, and configured nodes
	Quorum        int // 1 if writes are possible, else 0
	Behind        int // replicas on this node that are not current
}

// Cluster exports the state of the cluster. A later call replaces an earlier one.
func Cluster(state func() ClusterState) {
	export := func(name, help string, count func(ClusterState) int) {
		scraped(name, help, nil, func() float64 { return float64(count(state())) })
	}
	export("cluster_nodes", "Connected nodes of the cluster, including this one.", func(c ClusterState) int {
		return c.Nodes
	})
	export("cluster_nodes_wanted", "Configured nodes of the cluster.", func(c ClusterState) int { return c.Wanted })
	export("cluster_quorum", "1 if the cluster has a quorum, else 0.", func(c ClusterState) int { return c.Quorum })
	export("cluster_replicas_behind", "Replicas of streams and consumers on this node that are not current.",
		func(c ClusterState) int { return c.Behind })
}
