package schemas

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// owner is where a request, or the record in it, says which tenant it is about.
type owner struct {
	field string
	id    **string
	raw   *jsontext.Value // of a record; nil: there is none
}

// owned is a request about what a tenant has.
type owned interface{ owner() owner }

// TenantOf returns the tenant_id of req, a pointer to a request; empty when it
// has none or names the global collection.
func TenantOf(req any) string {
	of, ok := req.(owned)
	if !ok {
		return ""
	}
	if id := *of.owner().id; id != nil {
		return *id
	}
	return ""
}

// Admit has req, a pointer, speak for the identity: without a tenant it is
// about that of the identity. ErrForbidden: it is about another one, or about
// all although the role does not reach so far.
func (i *Identity) Admit(permission Permission, req any) error {
	of, ok := req.(owned)
	if i == nil || !ok {
		return nil
	}
	o := of.owner()
	writes := permission == PermissionRegister
	switch global := *o.id == nil; {
	case global && writes && i.Bound() && o.null():
		return ErrForbidden.With(FieldError{o.field, "global records need a credential for all tenants; want one of: " + strings.Join(i.Tenants, ", ")})
	case global && writes && !i.Bound() && i.Role != RoleAdmin:
		return ErrForbidden.With(FieldError{o.field, "global records need the role admin; name a tenant"})
	case !i.Bound():
		return nil
	case !global && !slices.Contains(i.Tenants, **o.id):
		return ErrForbidden.With(FieldError{o.field, "want a tenant of this credential: " + strings.Join(i.Tenants, ", ")})
	case !global:
		return nil
	case len(i.Tenants) > 1:
		return ErrMalformed.With(FieldError{o.field, "required, for this credential has several: " + strings.Join(i.Tenants, ", ")})
	default:
		return o.set(i.Tenants[0])
	}
}

// null reports whether a record says itself that it is global.
func (o owner) null() bool {
	if o.raw == nil {
		return false
	}
	var said struct {
		TenantID jsontext.Value `json:"tenant_id"`
	}
	return json.Unmarshal(*o.raw, &said) == nil && said.TenantID != nil
}

// set names the tenant of a request that names none.
func (o owner) set(tenant string) error {
	*o.id = &tenant
	if o.raw == nil {
		return nil
	}
	name, err := json.Marshal(tenant)
	if err != nil {
		return err
	}
	_, rest, _ := strings.Cut(string(*o.raw), "{") // an object with an id, at least
	*o.raw = jsontext.Value(`{"tenant_id":` + string(name) + "," + rest)
	return nil
}

func (t *TagWrite) owner() owner   { return owner{"tenant_id", &t.TenantID, nil} }
func (k *TagKey) owner() owner     { return owner{"tenant_id", &k.TenantID, nil} }
func (a *Asking) owner() owner     { return owner{"tenant_id", &a.TenantID, nil} }
func (q *ListQuery) owner() owner  { return owner{"tenant_id", &q.TenantID, nil} }
func (u *Unregister) owner() owner { return owner{"tenant_id", &u.TenantID, nil} }

func (r *RegisterSkill) owner() owner {
	return owner{"record.tenant_id", &r.Record.Fields.TenantID, &r.Record.Raw}
}

func (r *RegisterAgent) owner() owner {
	return owner{"agent_data.tenant_id", &r.AgentData.Fields.TenantID, &r.AgentData.Raw}
}

func (r *RegisterTool) owner() owner {
	return owner{"tool_data.tenant_id", &r.ToolData.Fields.TenantID, &r.ToolData.Raw}
}

func (r *RegisterContextBuilder) owner() owner {
	return owner{"cb_data.tenant_id", &r.CBData.Fields.TenantID, &r.CBData.Raw}
}

func (r *RegisterGuardrail) owner() owner {
	return owner{"guardrail_data.tenant_id", &r.GuardrailData.Fields.TenantID, &r.GuardrailData.Raw}
}

func (r *RegisterTemplate) owner() owner {
	return owner{"template_data.tenant_id", &r.TemplateData.Fields.TenantID, &r.TemplateData.Raw}
}
