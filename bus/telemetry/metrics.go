package telemetry

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Every metric there is, besides those of Go and of the process.
var (
	buildInfo = gauge("build_info", "Always 1; the labels say which build runs.", "version", "goversion")

	httpDuration = durations("http_request_duration_seconds", "HTTP requests by their whole duration; streams count until their end.", "method", "route", "status")
	httpRefused  = counter("http_refused_total", "Requests that an edge refused, since there was no processor time left.").WithLabelValues()
	httpStreams  = gauge("http_streams_open", "Event streams that the edge is sending.").WithLabelValues()

	natsDuration  = durations("nats_request_duration_seconds", "Requests that a worker took, by their whole duration; status is that of HTTP.", "subject", "status")
	natsUnheard   = counter("nats_no_responders_total", "Requests that no worker was there to take.", "subject")
	natsRefused   = counter("nats_refused_total", "Requests that a worker refused, which was full or had no processor time left; the caller asks others.", "subject")
	natsConnected = gauge("nats_connections", "Connections to NATS of this process that are up.").WithLabelValues()
	natsWanted    = gauge("nats_connections_wanted", "Connections to NATS that this process wants.").WithLabelValues()
	firstEvent    = durations("stream_first_event_seconds", "Time from a stream's request to its first event.", "subject")

	inFlight = gauge("service_requests_in_flight", "Requests that a service is at.", "service")
	slots    = gauge("service_slots", "Requests that a service takes at a time.", "service")

	catalogRevision = gauge("catalog_revision", "The catalog revision up to which this process knows of it.", "of")
	indexLag        = gauge("index_lag_changes", "Changes of the catalog that search does not see yet.", "index")
	recordsAside    = gauge("records_aside", "Records that are set aside: unreadable, or refused by the index.", "by")
	circuitState    = gauge("circuit_state", "The circuit breaker of a backend: 0 closed, 1 half open, 2 open.", "backend")

	modelDuration = durations("model_request_duration_seconds", "Requests to language models, until the end of their message.", "model", "outcome")
	modelTokens   = counter("model_tokens_total", "Tokens that language models read and wrote.", "model", "type")
	toolDuration  = durations("tool_duration_seconds", "Calls of tools by a model.", "tool")

	estateAsked = counter("estate_cache_requests_total", "Questions about estates, by whether the estate was parsed already.", "result")
	estateBytes = gauge("estate_cache_bytes", "What parsed estates take.").WithLabelValues()

	certificateEnd = described("certificate_not_after_timestamp_seconds", "When the certificate ends that this process shows, in seconds since 1970.", "of")

	clusterNodes  = described("cluster_nodes", "Nodes of the cluster that are connected, as this one sees it, which is one of them.")
	clusterWanted = described("cluster_nodes_wanted", "Nodes that the cluster is to have.")
	clusterQuorum = described("cluster_quorum", "1 when enough nodes are connected for something to be kept, else 0.")
	clusterBehind = described("cluster_copies_behind", "Copies of streams and consumers on this node that are not current.")

	exportFailures = counter("trace_export_failures_total", "Batches of spans that the collector did not take.").WithLabelValues()
)

// outcomes is a histogram of durations by status, for all that has the same
// other labels. That of the usual status is at hand, and counted from nothing.
type outcomes struct {
	others prometheus.ObserverVec
	status int
	usual  prometheus.Observer
}

func outcomesOf(h *prometheus.HistogramVec, status int, labels prometheus.Labels) outcomes {
	others := h.MustCurryWith(labels)
	return outcomes{others, status, others.WithLabelValues(strconv.Itoa(status))}
}

func (o *outcomes) observe(status int, took time.Duration) {
	if status == o.status {
		o.usual.Observe(took.Seconds())
		return
	}
	o.others.WithLabelValues(strconv.Itoa(status)).Observe(took.Seconds())
}

// Streaming counts a stream that an edge sends, until end.
func Streaming() (end func()) {
	httpStreams.Inc()
	return httpStreams.Dec
}

// HTTPRefused counts a request that an edge had no processor time for.
func HTTPRefused() { httpRefused.Inc() }

// Unheard counts a request that no worker was there to take.
func Unheard(subject string) { natsUnheard.WithLabelValues(subject).Inc() }

// Connection counts a connection to NATS that is wanted, or, with -1, no longer.
func Connection(n int) { natsWanted.Add(float64(n)) }

// Connected counts a connection to NATS that is up, or, with -1, no longer.
func Connected(n int) { natsConnected.Add(float64(n)) }

// CatalogRevision notes how far a part of the process knows the catalog: the
// edge from answers, resolve from the log.
func CatalogRevision(of string, revision uint64) {
	catalogRevision.WithLabelValues(of).Set(float64(revision))
}

// IndexLag notes how many changes an index is behind the catalog.
func IndexLag(index string, changes uint64) {
	indexLag.WithLabelValues(index).Set(float64(changes))
}

// RecordsAside notes how many records are set aside by a part of Cairn.
func RecordsAside(by string, n int) { recordsAside.WithLabelValues(by).Set(float64(n)) }

// CircuitState notes the state of a backend's circuit breaker: 0 closed, 1
// half open, 2 open.
func CircuitState(backend string, state int) {
	circuitState.WithLabelValues(backend).Set(float64(state))
}

// EstateAsked counts a question about an estate; hit: it was parsed already.
func EstateAsked(hit bool) {
	result := "miss"
	if hit {
		result = "hit"
	}
	estateAsked.WithLabelValues(result).Inc()
}

// EstateBytes notes that parsed estates take so many bytes more, or less.
func EstateBytes(n int) { estateBytes.Add(float64(n)) }

// Slots are the requests that a service takes at a time.
type Slots struct {
	used prometheus.Gauge
	all  prometheus.Gauge
	most int
}

// NewSlots notes that a service takes most requests at a time.
func NewSlots(service string, most int) Slots {
	s := Slots{inFlight.WithLabelValues(service), slots.WithLabelValues(service), most}
	s.all.Add(float64(most))
	return s
}

// Take notes that a request has begun.
func (s Slots) Take() { s.used.Inc() }

// Free notes that a request has ended.
func (s Slots) Free() { s.used.Dec() }

// Close notes that the service takes no more.
func (s Slots) Close() { s.all.Sub(float64(s.most)) }
