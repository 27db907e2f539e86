package schemas

import (
	"slices"
	"strings"

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

// tenantRequest is a request that belongs to a tenant. The requests implement it below.
type tenantRequest interface{ tenantField() tenantField }

// TenantOf returns the tenant_id of req, a pointer to a request. It returns "" if
// the request has none or addresses the global scope.
func TenantOf(req any) string {
	r, ok := req.(tenantRequest)
	if !ok {
		return ""
	}
	if id := *r.tenantField().id; id != nil {
		return *id
	}
	return ""
}

// AuthorizeTenant checks that the identity may access the tenant of req, a pointer to
// a request. It sets the tenant of a request without one to that of an identity
// bound to one tenant. It returns ErrForbidden for another tenant, or for a global
// record that the role must not write, and ErrMalformed if the tenant is ambiguous.
func (i *Identity) AuthorizeTenant(permission Permission, req any) error {
	r, ok := req.(tenantRequest)
	if i == nil || !ok {
		return nil
	}
	f := r.tenantField()
	writes := permission == PermissionRegister
	switch global := *f.id == nil; {
	case global && writes && i.Bound() && f.isNull():
		return ErrForbidden.With(FieldError{f.field,
			"global records require a credential for all tenants; expected one of: " + strings.Join(i.Tenants, ", ")})
	case global && writes && !i.Bound() && i.Role != RoleAdmin:
		return ErrForbidden.With(FieldError{f.field, "global records require the role admin; expected a tenant_id"})
	case !i.Bound():
		return nil
	case !global && !slices.Contains(i.Tenants, **f.id):
		return ErrForbidden.With(FieldError{f.field, "expected a tenant of the credential: " + strings.Join(i.Tenants, ", ")})
	case !global:
		return nil
	case len(i.Tenants) > 1:
		return ErrMalformed.With(FieldError{f.field,
			"required: the credential is bound to several tenants; expected one of: " + strings.Join(i.Tenants, ", ")})
	default:
		return f.set(i.Tenants[0])
	}
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

func (t *TagWrite) tenantField() tenantField      { return tenantField{"tenant_id", &t.TenantID, nil} }
func (k *TagKey) tenantField() tenantField        { return tenantField{"tenant_id", &k.TenantID, nil} }
func (a *QueryOptions) tenantField() tenantField  { return tenantField{"tenant_id", &a.TenantID, nil} }
func (q *ListQuery) tenantField() tenantField     { return tenantField{"tenant_id", &q.TenantID, nil} }
func (u *Unregister) tenantField() tenantField    { return tenantField{"tenant_id", &u.TenantID, nil} }
func (k *RecordKey) tenantField() tenantField     { return tenantField{"tenant_id", &k.TenantID, nil} }
func (q *ReferrerQuery) tenantField() tenantField { return tenantField{"tenant_id", &q.TenantID, nil} }
func (q *RecordQuery) tenantField() tenantField   { return tenantField{"tenant_id", &q.TenantID, nil} }
func (q *QuotaQuery) tenantField() tenantField    { return tenantField{"tenant_id", &q.TenantID, nil} }
func (q *RecordSearch) tenantField() tenantField  { return tenantField{"tenant_id", &q.TenantID, nil} }
func (w *Watch) tenantField() tenantField         { return tenantField{"tenant_id", &w.TenantID, nil} }
func (r *PutRecord) tenantField() tenantField {
	return tenantField{"tenant_id", &r.TenantID, &r.Record}
}

func (r *RegisterSkill) tenantField() tenantField {
	return tenantField{"record.tenant_id", &r.Record.Fields.TenantID, &r.Record.Raw}
}

func (r *RegisterAgent) tenantField() tenantField {
	return tenantField{"agent_data.tenant_id", &r.AgentData.Fields.TenantID, &r.AgentData.Raw}
}

func (r *RegisterTool) tenantField() tenantField {
	return tenantField{"tool_data.tenant_id", &r.ToolData.Fields.TenantID, &r.ToolData.Raw}
}

func (r *RegisterContextBuilder) tenantField() tenantField {
	return tenantField{"cb_data.tenant_id", &r.CBData.Fields.TenantID, &r.CBData.Raw}
}

func (r *RegisterGuardrail) tenantField() tenantField {
	return tenantField{"guardrail_data.tenant_id", &r.GuardrailData.Fields.TenantID, &r.GuardrailData.Raw}
}

func (r *RegisterTemplate) tenantField() tenantField {
	return tenantField{"template_data.tenant_id", &r.TemplateData.Fields.TenantID, &r.TemplateData.Raw}
}
