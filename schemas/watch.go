package schemas

// Event types of a watch, besides error and done.
const (
	EventWatching   = "watching"
	EventRegistered = "registered"
	EventReplaced   = "replaced"
	EventDeleted    = "deleted"
	// EventUnmatched reports that a replaced record no longer matches the labels of the watch.
	EventUnmatched = "unmatched"
)

// Watch requests an event for each change of records from now on, or after a revision.
type Watch struct {
	TenantID *string `json:"tenant_id,omitzero" doc:"absent: global scope only"`
	Scope    string  `json:"scope,omitzero" doc:"tenant or global: only this scope; by default the tenant's records and the global ones"`
	Kind     string  `json:"kind,omitzero" doc:"only records of this kind"`
	Labels   string  `json:"labels,omitzero" doc:"only records with all of these labels, such as team=network,tier=gold; deletions of any record, and unmatched for replacements without the labels"`
	Prefix   string  `json:"prefix,omitzero" doc:"only records whose id begins with this text"`
	After    string  `json:"after,omitzero" doc:"revision of the last event received; by default the newest one. Over HTTP Last-Event-ID has precedence"`
}

func (w *Watch) tenantField() tenantField { return tenantField{"tenant_id", &w.TenantID, nil} }

// Watching is the first event of a watch.
type Watching struct {
	Revision string `json:"revision" doc:"the watch has every change after this revision"`
}

// RecordChange is an event of a watch: the registration, replacement or deletion of a record. An
// unmatched event has no version, status and labels.
type RecordChange struct {
	Revision string            `json:"revision" doc:"consistency token of the write, as in Cairn-Revision; the id of the event"`
	Kind     string            `json:"kind"`
	ID       string            `json:"id"`
	TenantID string            `json:"tenant_id,omitzero" doc:"absent: global"`
	StoredAt string            `json:"stored_at" doc:"time of the write, RFC 3339"`
	Version  string            `json:"version,omitzero" doc:"version of the record"`
	Status   string            `json:"status,omitzero" doc:"status of the record"`
	Labels   map[string]string `json:"labels,omitempty" doc:"labels of the record"`
	Author
}
