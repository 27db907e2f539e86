package records

import (
	"cmp"
	"errors"
	"strings"

	"cairn/deploy/internal/output"
	"cairn/schemas"
)

// Rejection is a rejected record with the reason.
type Rejection struct {
	Source  string               `json:"source"`
	Kind    string               `json:"kind,omitempty"`
	ID      string               `json:"id,omitempty"`
	Code    string               `json:"code,omitempty"`
	Message string               `json:"message"`
	Fields  []schemas.FieldError `json:"errors,omitempty"`
}

// NewRejection returns the rejection of a record because of err.
func NewRejection(r Record, err error) Rejection {
	f := Rejection{Source: r.Source, Kind: r.Kind, ID: r.ID, Message: output.OneLine(err)}
	if e, ok := errors.AsType[*schemas.Error](err); ok {
		f.Code, f.Fields = e.Code, e.Fields
		if f.Message = e.Title; len(e.Fields) == 0 { // fields are more specific than the detail
			f.Message = output.Joined(e.Title, e.Detail)
		}
	}
	return f
}

// String returns the record and the reason for its rejection on one line.
func (f Rejection) String() string { return output.Joined(f.Kind, f.ID, f.Code, f.Reason()) }

// Reason returns the reason for the rejection on one line.
func (f Rejection) Reason() string {
	var fields []string
	for _, field := range f.Fields {
		fields = append(fields, field.Field+": "+field.Message)
	}
	return cmp.Or(strings.Join(fields, "; "), f.Message)
}
