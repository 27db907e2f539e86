package records

import (
	"cmp"
	"errors"
	"strings"

	"cairn/deploy/internal/output"
	"cairn/schemas"
)

// Refusal is a rejected record.
type Refusal struct {
	Source  string               `json:"source"`
	Kind    string               `json:"kind,omitempty"`
	ID      string               `json:"id,omitempty"`
	Code    string               `json:"code,omitempty"`
	Message string               `json:"message"`
	Fields  []schemas.FieldError `json:"errors,omitempty"`
}

// NewRefusal returns the refusal of a record by an error.
func NewRefusal(r Record, err error) Refusal {
	f := Refusal{Source: r.Source, Kind: r.Kind, ID: r.ID, Message: output.OneLine(err)}
	var e *schemas.Error
	if errors.As(err, &e) {
		f.Code, f.Fields = e.Code, e.Fields
		if f.Message = e.Title; len(e.Fields) == 0 { // fields are more specific than the detail
			f.Message = output.Joined(e.Title, e.Detail)
		}
	}
	return f
}

// String returns the record and the reason for its rejection on one line.
func (f Refusal) String() string {
	var fields []string
	for _, field := range f.Fields {
		fields = append(fields, field.Field+": "+field.Message)
	}
	return output.Joined(f.Kind, f.ID, f.Code, cmp.Or(strings.Join(fields, "; "), f.Message))
}
