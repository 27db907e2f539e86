package schemas

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas/member"
)

// RecordKey names a record. Without a scope, it names the record of the tenant, or else
// the global one.
type RecordKey struct {
	Kind     string  `json:"kind" doc:"skill, agent, tool, context_builder, guardrail or template"`
	ID       string  `json:"id"`
	TenantID *string `json:"tenant_id,omitzero" doc:"absent or null: global"`
	Scope    string  `json:"scope,omitzero" doc:"tenant or global: only this scope; by default the tenant's record, or else the global one"`
}

func (k *RecordKey) validate(c *check) { c.kindID(k.Kind, k.ID) }

func (k *RecordKey) tenantField() tenantField { return tenantField{"tenant_id", &k.TenantID, nil} }

// RecordAt names a record, or one of its revisions.
type RecordAt struct {
	RecordKey
	Revision string `json:"revision,omitzero" doc:"a revision of the history of the record; by default the newest one"`
}

// MaxHistory is the number of revisions of a record in its history, including the newest one
// and deletions.
const MaxHistory = 10

// RecordHistory lists the retained revisions of a record, newest first.
type RecordHistory struct {
	Revisions []RecordRevision `json:"revisions" doc:"newest first"`
}

// RecordRevision is a registration or deletion of a record.
type RecordRevision struct {
	Revision string `json:"revision" doc:"consistency token of the write, as in Cairn-Revision"`
	StoredAt string `json:"stored_at" doc:"time of the write, RFC 3339"`
	Removed  bool   `json:"removed,omitzero" doc:"the record was deleted; otherwise absent"`
	Version  string `json:"version,omitzero" doc:"version of the record"`
	Status   string `json:"status,omitzero" doc:"status of the record"`
	Author
}

// RecordUsage is how often a tenant has used a record, or requests without a tenant. The
// counts lag by seconds, and exclude uses that were counted while NATS was unavailable.
type RecordUsage struct {
	Resolved Uses `json:"resolved" doc:"responses with the record by its id or by a link"`
	Found    Uses `json:"found" doc:"responses with the record as a hit of a search or one of a class of tools"`
}

// Uses is the number of uses.
type Uses struct {
	Count  uint64 `json:"count"`
	LastAt string `json:"last_at,omitzero" doc:"time of the last use, RFC 3339; absent: none in the last 90 days"`
}

// RecordFound is a record as it was registered, with its revision. It is encoded as
// the record alone.
type RecordFound struct {
	Record jsontext.Value
	Token  ConsistencyToken // of the registration; sent in a header
}

// MarshalJSON returns the record.
func (f RecordFound) MarshalJSON() ([]byte, error) { return f.Record, nil }

// UnmarshalJSON stores a copy of data.
func (f *RecordFound) UnmarshalJSON(data []byte) error {
	f.Record = jsontext.Value(data).Clone()
	return nil
}

// CatalogRevision returns the token of the record's registration.
func (f RecordFound) CatalogRevision() ConsistencyToken { return f.Token }

func (RecordFound) encodedTypes() []reflect.Type {
	return []reflect.Type{reflect.TypeFor[Skill](), reflect.TypeFor[Agent](), reflect.TypeFor[Tool](),
		reflect.TypeFor[ContextBuilder](), reflect.TypeFor[Guardrail](), reflect.TypeFor[Template]()}
}

// RecordQuery requests a page of the records of a kind, ordered by id.
type RecordQuery struct {
	Kind     string  `json:"kind" doc:"skill, agent, tool, context_builder, guardrail or template"`
	TenantID *string `json:"tenant_id,omitzero" doc:"absent: global scope only"`
	Scope    string  `json:"scope,omitzero" doc:"tenant or global: only this scope; by default the tenant's records, or the global ones if none of the tenant's matches"`
	Domain   string  `json:"domain,omitzero" doc:"only records with this value"`
	Status   string  `json:"status,omitzero" doc:"only records with this value; active includes records without a status"`
	Labels   string  `json:"labels,omitzero" doc:"only records with all of these labels, such as team=network,tier=gold"`
	Prefix   string  `json:"prefix,omitzero" doc:"only records whose id begins with this text"`
	Public   bool    `json:"public,omitzero" doc:"only published records: public, active or deprecated; agents with a card, tools with a server_json"`
	Limit    *int    `json:"limit,omitzero" doc:"page length, 1 to 1000; 100 by default"`
	Cursor   string  `json:"cursor,omitzero" doc:"next_cursor of the previous page"`
}

func (q *RecordQuery) tenantField() tenantField { return tenantField{"tenant_id", &q.TenantID, nil} }

// ParseLabels returns the labels of a selector such as team=network,tier=gold.
func ParseLabels(selector string) (map[string]string, error) {
	labels := map[string]string{}
	if selector == "" {
		return labels, nil
	}
	for pair := range strings.SplitSeq(selector, ",") {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fmt.Errorf("expected name=value, separated by commas, got %.100q", pair)
		}
		if before, twice := labels[name]; twice && before != value {
			return nil, fmt.Errorf("label %.100q is given twice with different values", name)
		}
		labels[name] = value
	}
	return labels, nil
}

// RecordList is a page of records. The last page has no next_cursor.
type RecordList struct {
	Records    []jsontext.Value `json:"records" doc:"without instructions, and without the content of resources"`
	StoredAt   []string         `json:"stored_at,omitempty" doc:"time of the last write of each record, in their order, RFC 3339"`
	NextCursor *string          `json:"next_cursor" doc:"null on the last page"`
	// Revision is the revision of the log before the page was read: the page includes every change up
	// to it, and possibly later ones. It is sent in a header.
	Revision ConsistencyToken `json:"-"`
}

// CatalogRevision returns the token from which a watch continues after the page.
func (l RecordList) CatalogRevision() ConsistencyToken { return l.Revision }

// PutRecord registers or replaces a record of any kind. Over HTTP the record is the body.
type PutRecord struct {
	Kind     string  `json:"kind" doc:"skill, agent, tool, context_builder, guardrail or template"`
	ID       string  `json:"id"`
	TenantID *string `json:"tenant_id,omitzero" doc:"absent or null: the tenant_id of the record"`
	Strictness
	Record jsontext.Value `json:"record" doc:"a record of the kind; its id and tenant_id may be absent"`
}

// RecordStored is the response to a PutRecord.
type RecordStored struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	Registered
}

// Validate completes the record with the id and the tenant. It returns
// ErrInvalidRegistration with the invalid fields of the request and of the record.
func (r *PutRecord) Validate() error {
	c := checked(r)
	c.kindID(r.Kind, r.ID)
	if len(c) > 0 {
		return c.as(ErrInvalidRegistration)
	}
	if err := r.complete(&c); err != nil {
		return ErrInvalidRegistration.explain(err)
	}
	if len(c) > 0 {
		return c.as(ErrInvalidRegistration)
	}
	return r.checkRecord()
}

// complete adds the id and the tenant to the record, or the tenant of the record to r.
func (r *PutRecord) complete(c *check) error {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(r.Record, &members, decodeOptions); err != nil {
		return err
	}
	id := r.Kind + "_id"
	missing := []member.Member{}
	if given := members[id]; given == nil || given.Kind() == jsontext.KindNull {
		missing = append(missing, member.Member{Name: id, Value: r.ID})
	} else if text, err := jsontext.AppendUnquote(nil, given); err != nil || string(text) != r.ID {
		c.fail("record."+id, "expected %q, the id of the request, got %.100s", r.ID, given)
	}
	given := members["tenant_id"]
	text, err := jsontext.AppendUnquote(nil, given)
	switch {
	case given == nil && r.TenantID != nil:
		missing = append(missing, member.Member{Name: "tenant_id", Value: *r.TenantID})
	case given == nil:
	case given.Kind() == jsontext.KindNull && r.TenantID == nil:
	case err != nil || r.TenantID != nil && string(text) != *r.TenantID:
		c.fail("record.tenant_id", "expected the tenant_id of the request, got %.100s", given)
	default:
		r.TenantID = new(string(text))
		c.tenant("record.tenant_id", r.TenantID)
	}
	for _, m := range slices.Backward(missing) {
		if r.Record, err = member.Prepend(r.Record, m); err != nil {
			return err
		}
	}
	return nil
}

// checkRecord validates the record as its registration does.
func (r *PutRecord) checkRecord() error {
	body, err := r.Registration()
	if err != nil {
		return err
	}
	_, err = DecodeRegistration(r.Kind, body)
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	return e.MapFields(func(f FieldError) FieldError {
		if rest, ok := strings.CutPrefix(f.Field, Wrapper(r.Kind)+"."); ok {
			f.Field = "record." + rest
		}
		return f
	})
}

// Registration returns the body of the registration of the record's kind.
func (r *PutRecord) Registration() ([]byte, error) {
	if !KnownKind(r.Kind) {
		return nil, fmt.Errorf("kind %q: expected one of %s", r.Kind, strings.Join(Kinds(), ", "))
	}
	return slices.Concat([]byte(`{"`+Wrapper(r.Kind)+`":`), bytes.TrimSpace(r.Record), []byte("}")), nil
}

// Stored returns the record of a valid request as the registration stores it.
func (r *PutRecord) Stored() (jsontext.Value, error) {
	record := jsontext.Value(NormalizeRecord(r.Kind, r.Record))
	if r.Kind != KindSkill {
		return record, nil
	}
	var f Skill
	if err := json.Unmarshal(record, &f, decodeOptions); err != nil {
		return nil, err
	}
	return CompleteSkill(f, record)
}

func (r *PutRecord) tenantField() tenantField {
	return tenantField{"tenant_id", &r.TenantID, &r.Record}
}

// DecodeRegistration decodes and validates the body of a registration: it returns a
// RegisterSkill, RegisterAgent, and so on.
func DecodeRegistration(kind string, body []byte) (any, error) {
	switch kind {
	case KindSkill:
		return decodeAny[RegisterSkill](body)
	case KindAgent:
		return decodeAny[RegisterAgent](body)
	case KindTool:
		return decodeAny[RegisterTool](body)
	case KindContextBuilder:
		return decodeAny[RegisterContextBuilder](body)
	case KindGuardrail:
		return decodeAny[RegisterGuardrail](body)
	default:
		return decodeAny[RegisterTemplate](body)
	}
}

func decodeAny[T any](body []byte) (any, error) { return Decode[T](body, ErrInvalidRegistration) }

// LabelTerms returns the labels as name=value, sorted. A name has no =.
func LabelTerms(labels map[string]string) []string {
	terms := make([]string, 0, len(labels))
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		terms = append(terms, name+"="+labels[name])
	}
	return terms
}
