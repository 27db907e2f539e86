// Package schemas is what is said between Cairn's parts and its callers: the
// requests and replies, their validation, and the errors a caller may see.
// It imports nothing of ours.
package schemas

// Health is how a service, or the whole of Cairn, is doing.
type Health struct {
	Service  string            `json:"service" doc:"who answers"`
	Status   string            `json:"status" doc:"ok, degraded or down"`
	Version  string            `json:"version,omitempty"`
	Degraded []string          `json:"degraded,omitempty" doc:"what is missing or slow, one sentence each"`
	Backends map[string]string `json:"backends,omitempty" doc:"the URL of each backend in use"`
	Revision uint64            `json:"revision,omitzero" doc:"the catalog revision up to which this service has read"`
	Index    *IndexStatus      `json:"index,omitzero" doc:"the index that workers share, when there is one"`
	Services []Health          `json:"services,omitempty" doc:"the services behind, in the answer of the edge"`
}

// The values of Health.Status.
const (
	StatusOK       = "ok"
	StatusDegraded = "degraded"
	StatusDown     = "down"
)

// Nothing is a request or a reply without content.
type Nothing struct{}

// UnmarshalJSON takes anything, and nothing at all.
func (*Nothing) UnmarshalJSON([]byte) error { return nil }
