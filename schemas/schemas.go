// Package schemas declares the requests and responses of Cairn, their validation,
// and the errors that callers receive. It imports no package of this module but its
// subpackage member.
package schemas

// Health is the state of a service, or of the whole system.
type Health struct {
	Service  string            `json:"service" doc:"name of the service"`
	Status   string            `json:"status" doc:"ok, degraded or down"`
	Version  string            `json:"version,omitempty"`
	Degraded []string          `json:"degraded,omitempty" doc:"reasons for a degraded status"`
	Backends map[string]string `json:"backends,omitempty" doc:"URLs of the backends in use"`
	Catalog  string            `json:"catalog,omitempty" doc:"ID of the catalog that this service writes or reads"`
	Revision uint64            `json:"revision,omitzero" doc:"watermark: the highest catalog revision that this service has applied"`
	Index    *IndexStatus      `json:"index,omitzero" doc:"state of the shared index, if one is configured"`
	// Dangling are reported without a degraded status: they are a fault of the records.
	Dangling *DanglingReferences `json:"dangling_references,omitzero" doc:"links of the catalog to records that do not exist; absent: none"`
	Services []Health            `json:"services,omitempty" doc:"health of the workers, reported by the edge"`
}

// Values of Health.Status.
const (
	StatusOK       = "ok"
	StatusDegraded = "degraded"
	StatusDown     = "down"
)

// ValueOr returns the value of an optional field, or absent if the field is nil.
func ValueOr[T any](field *T, absent T) T {
	if field == nil {
		return absent
	}
	return *field
}

// Optional returns an optional field with the value, nil for the zero value.
func Optional[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}

// Nothing is an empty request or response.
type Nothing struct{}

// UnmarshalJSON accepts any input, including none.
func (*Nothing) UnmarshalJSON([]byte) error { return nil }
