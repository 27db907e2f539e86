package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"cairn/deploy/internal/output"
	"cairn/schemas"
)

// summary counts the results of one registration run.
type summary struct {
	Accepted map[string]int `json:"accepted"` // by kind
	Later    int            `json:"searchable_later,omitempty"`
	Refused  []refusal      `json:"refused"`
	Unsent   int            `json:"unsent,omitempty"` // not sent because of an interrupt
	Revision uint64         `json:"revision,omitempty"`
	Seconds  float64        `json:"seconds"`
	DryRun   bool           `json:"dry_run,omitempty"`
}

// refusal is a rejected record.
type refusal struct {
	Source  string               `json:"source"`
	Kind    string               `json:"kind,omitempty"`
	ID      string               `json:"id,omitempty"`
	Code    string               `json:"code,omitempty"`
	Message string               `json:"message"`
	Fields  []schemas.FieldError `json:"errors,omitempty"`
}

func summarize(records []record, outcomes []outcome) summary {
	s := summary{Accepted: map[string]int{}, Refused: []refusal{}}
	for i, r := range records {
		o := outcomes[i]
		switch {
		case errors.Is(o.err, context.Canceled):
			s.Unsent++
		case o.err != nil:
			s.Refused = append(s.Refused, newRefusal(r, o.err))
		default:
			s.Accepted[r.Kind]++
			s.Revision = max(s.Revision, o.revision)
			if o.later {
				s.Later++
			}
		}
	}
	return s
}

func newRefusal(r record, err error) refusal {
	f := refusal{Source: r.Source, Kind: r.Kind, ID: r.ID, Message: output.OneLine(err)}
	var e *schemas.Error
	if errors.As(err, &e) {
		f.Code, f.Fields = e.Code, e.Fields
		if f.Message = e.Title; len(e.Fields) == 0 { // fields are more specific than the detail
			f.Message = output.Joined(e.Title, e.Detail)
		}
	}
	return f
}

// print writes the summary as text.
func (s summary) print(out io.Writer) error {
	t := output.NewTable(out)
	accepted, verb := 0, "registered"
	for _, n := range s.Accepted {
		accepted += n
	}
	if s.DryRun {
		verb = "validated"
	}
	t.Row(fmt.Sprintf("%s %d of %d records in %.1f s", verb, accepted, accepted+len(s.Refused)+s.Unsent, s.Seconds))
	for _, kind := range schemas.Kinds() {
		if n := s.Accepted[kind]; n > 0 {
			t.Row("  "+kind, fmt.Sprint(n))
		}
	}
	if s.Later > 0 {
		t.Row(fmt.Sprintf("%d are durable but not searchable yet, until a dependency recovers: see cairn status", s.Later))
	}
	if s.Unsent > 0 {
		t.Row(fmt.Sprintf("%d not sent: interrupted", s.Unsent))
	}
	if len(s.Refused) > 0 {
		t.Row(fmt.Sprintf("rejected %d:", len(s.Refused)))
	}
	for _, f := range s.Refused {
		t.Row("  " + f.Source + "  " + f.String())
	}
	return t.Write()
}

// String returns the record and the reason for its rejection on one line.
func (f refusal) String() string {
	var fields []string
	for _, field := range f.Fields {
		fields = append(fields, field.Field+": "+field.Message)
	}
	return output.Joined(f.Kind, f.ID, f.Code, cmp.Or(strings.Join(fields, "; "), f.Message))
}
