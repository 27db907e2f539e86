package schemas

import (
	"errors"
	"fmt"
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

// UnmarshalJSON rejects unknown members: a misspelt one would not filter.
func (f *Filter) UnmarshalJSON(data []byte) error {
	type plain Filter
	if jsontext.Value(data).Kind() == jsontext.KindNull {
		return nil
	}
	err := json.Unmarshal(data, (*plain)(f), decodeOptions, json.RejectUnknownMembers(true))
	if err == nil {
		return nil
	}
	var semantic *json.SemanticError
	if errors.As(err, &semantic) && errors.Is(err, json.ErrUnknownName) {
		field := "filter." + semantic.JSONPointer.LastToken()
		return ErrMalformed.With(FieldError{field, "unknown; expected domain, status, labels, capabilities or public"})
	}
	return inFilter(ErrMalformed.explain(err))
}

// inFilter returns e with the paths of its fields in the request.
func inFilter(e *Error) *Error {
	summarized := e.Detail == summary(e.Fields)
	for i, f := range e.Fields {
		e.Fields[i].Field = strings.TrimSuffix("filter."+f.Field, ".body")
	}
	if summarized {
		e.Detail = summary(e.Fields)
	}
	return e
}

func checkFilter(c *check, f Filter) {
	c.length("filter.domain", f.Domain, 0, maxID)
	if f.Status != "" && f.Status != StatusActive && f.Status != StatusDeprecated {
		c.fail("filter.status", "expected %s or %s, got %.100q", StatusActive, StatusDeprecated, f.Status)
	}
	checkLabels(c, "filter.labels", f.Labels)
	c.atMost("filter.capabilities", len(f.Capabilities), maxLabels)
	for i, s := range f.Capabilities[:min(len(f.Capabilities), maxLabels)] {
		c.length(fmt.Sprintf("filter.capabilities[%d]", i), s, 1, maxID)
	}
}
