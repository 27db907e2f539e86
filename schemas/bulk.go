package schemas

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxBulk is the maximum number of records in a PutRecords.
const MaxBulk = 256

// maxBulkErrors bounds the field errors of one record in a RecordResults, so that a
// reply for MaxBulk records fits into a message.
const maxBulkErrors = 5

// PutRecords registers or replaces records of any kind. Each of them is accepted or
// rejected on its own. Over HTTP the body has one record per line.
type PutRecords struct {
	TenantID *string `json:"tenant_id,omitzero" doc:"tenant of the records that name none; absent or null: global"`
	Strictness
	Records []jsontext.Value `json:"records" doc:"at most 256; of records with the same id and tenant the last one wins"`
}

// BulkRecord is a record of a PutRecords.
type BulkRecord struct {
	Kind     string         `json:"kind" doc:"skill, agent, tool, context_builder, guardrail or template"`
	ID       string         `json:"id,omitzero" doc:"absent: the id in the record"`
	TenantID *string        `json:"tenant_id,omitzero" doc:"absent or null: the tenant_id of the record, or else of the request"`
	Record   jsontext.Value `json:"record" doc:"a record of the kind"`
}

// CheckBulkRecord returns ErrInvalidRegistration for a text that cannot be a record of a
// PutRecords, because it would make the whole request unreadable.
func CheckBulkRecord(text []byte) error {
	if NestedDeeper(text, maxNesting-2) { // the request adds two levels
		return ErrInvalidRegistration.Because(errNesting.Error())
	}
	var value jsontext.Value
	if err := json.Unmarshal(text, &value, decodeOptions); err != nil {
		return ErrInvalidRegistration.explain(err)
	}
	return nil
}

// Put returns the registration of record i without validating it. On an error, the registration has
// the kind and the id if they could be read.
func (r *PutRecords) Put(i int) (PutRecord, error) {
	b, err := Read[BulkRecord](r.Records[i], ErrInvalidRegistration)
	var ids map[string]jsontext.Value
	_ = json.Unmarshal(b.Record, &ids) // Validate reports a record that is not an object
	text := func(name string) string {
		value, err := jsontext.AppendUnquote(nil, ids[name])
		if err != nil || ids[name].Kind() != jsontext.KindString {
			return ""
		}
		return string(value)
	}
	if b.ID == "" {
		b.ID = text(b.Kind + "_id")
	}
	if b.TenantID == nil && ids["tenant_id"] == nil {
		b.TenantID = r.TenantID
	}
	return PutRecord{Kind: b.Kind, ID: b.ID, TenantID: b.TenantID, Strictness: r.Strictness, Record: b.Record}, err
}

// RecordResults is the response to a PutRecords.
type RecordResults struct {
	Results []RecordResult   `json:"results" doc:"one for each record, in their order"`
	Newest  ConsistencyToken `json:"-"`
}

// CatalogRevision returns the token of the last registration.
func (r RecordResults) CatalogRevision() ConsistencyToken { return r.Newest }

// RecordResult is the result of registering one of several records.
type RecordResult struct {
	Kind      string       `json:"kind,omitzero" doc:"absent if the record could not be read"`
	ID        string       `json:"id,omitzero" doc:"absent if the record could not be read"`
	Revision  string       `json:"revision,omitzero" doc:"consistency token of the registration, as in Cairn-Revision"`
	Indexed   *bool        `json:"indexed,omitzero" doc:"false: durable, but not searchable yet; otherwise absent"`
	Unchanged bool         `json:"unchanged,omitzero" doc:"true: equal to the stored record, whose revision stays the newest; otherwise absent"`
	Warnings  []FieldError `json:"warnings,omitempty" doc:"probable mistakes in the record that is stored, such as fields that resemble those of the kind and references to absent records"`
	Error     *Error       `json:"error,omitzero" doc:"why the record was not registered"`
}

// Rejected returns the result of a record that was not registered because of e.
func (r RecordResult) Rejected(e *Error) RecordResult {
	c := *e
	c.Fields = c.Fields[:min(len(c.Fields), maxBulkErrors)]
	return RecordResult{Kind: truncateValue(r.Kind), ID: truncate(r.ID, maxID), Error: &c}
}

// Stored returns the result of a record that was registered.
func (r RecordResult) Stored(registered Registered, warnings []FieldError) RecordResult {
	r.Revision, r.Indexed = registered.CatalogRevision().String(), registered.Indexed
	r.Unchanged = registered.Unchanged
	r.Warnings = warnings[:min(len(warnings), maxBulkErrors)]
	return r
}
