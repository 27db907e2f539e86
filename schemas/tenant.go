package schemas

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas/member"
)

// tenantField is the tenant_id of a request, or of the record in it.
type tenantField struct {
	field string
	id    **string
	raw   *jsontext.Value // the encoded record; nil if the request has none
}

// tenantRequest is a request that belongs to a tenant. Each request implements it next to its type.
type tenantRequest interface{ tenantField() tenantField }

// TenantOf returns the tenant_id of req, a pointer to a request. It returns "" if
// the request has none or addresses the global scope.
func TenantOf(req any) string {
	r, ok := req.(tenantRequest)
	if !ok {
		return ""
	}
	return ValueOr(*r.tenantField().id, "")
}

// isNull reports whether the record contains a tenant_id of null.
func (f tenantField) isNull() bool {
	if f.raw == nil {
		return false
	}
	var probe struct {
		TenantID jsontext.Value `json:"tenant_id"`
	}
	return json.Unmarshal(*f.raw, &probe) == nil && probe.TenantID != nil
}

// set sets the tenant of a request that has none.
func (f tenantField) set(tenant string) (err error) {
	*f.id = &tenant
	if f.raw != nil {
		*f.raw, err = member.Prepend(*f.raw, member.Member{Name: "tenant_id", Value: tenant})
	}
	return err
}
