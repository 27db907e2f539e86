package schemas

import (
	"errors"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Filter selects the records that a search considers: those that satisfy all of its fields.
type Filter struct {
	Domain       string            `json:"domain,omitzero" doc:"records of this domain"`
	Status       string            `json:"status,omitzero" doc:"active or deprecated; by default both"`
	Labels       map[string]string `json:"labels,omitempty" doc:"records with all of these labels"`
	Capabilities []string          `json:"capabilities,omitempty" doc:"records with all of these capabilities, as registered"`
	Public       bool              `json:"public,omitzero" doc:"only published records: public skills, public agents with a card, public tools with a server_json"`
}

// Empty reports whether the filter selects all records.
func (f *Filter) Empty() bool {
	return f.Domain == "" && f.Status == "" && len(f.Labels) == 0 && len(f.Capabilities) == 0 && !f.Public
}

// UnmarshalJSON rejects unknown members.
func (f *Filter) UnmarshalJSON(data []byte) error {
	type plain Filter
	return decodeConditions(data, (*plain)(f), "filter", "domain, status, labels, capabilities or public")
}

// decodeConditions decodes the member of a request into v, a pointer to a struct. It rejects members
// other than the known ones: a misspelt one would not filter.
func decodeConditions(data []byte, v any, member, expected string) error {
	if jsontext.Value(data).Kind() == jsontext.KindNull {
		return nil
	}
	err := json.Unmarshal(data, v, decodeOptions, json.RejectUnknownMembers(true))
	if err == nil {
		return nil
	}
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok && errors.Is(err, json.ErrUnknownName) {
		return ErrMalformed.With(FieldError{member + "." + semantic.JSONPointer.LastToken(), "unknown; expected " + expected})
	}
	return ErrMalformed.explain(err).MapFields(func(f FieldError) FieldError {
		return FieldError{strings.TrimSuffix(member+"."+f.Field, ".body"), f.Message}
	})
}
