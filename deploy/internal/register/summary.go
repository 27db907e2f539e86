package register

import (
	"context"
	"errors"
	"fmt"
	"io"

	"cairn/deploy/internal/output"
	"cairn/deploy/internal/records"
	"cairn/schemas"
)

// summary counts the results of one registration run.
type summary struct {
	Accepted map[string]int    `json:"accepted"` // by kind
	Later    int               `json:"searchable_later,omitempty"`
	Refused  []records.Refusal `json:"refused"`
	Unsent   int               `json:"unsent,omitempty"` // not sent because of an interrupt
	Revision uint64            `json:"revision,omitempty"`
	Seconds  float64           `json:"seconds"`
	DryRun   bool              `json:"dry_run,omitempty"`
}

// summarize counts the outcomes of records.
func summarize(list []records.Record, outcomes []records.Outcome) summary {
	s := summary{Accepted: map[string]int{}, Refused: []records.Refusal{}}
	for i, r := range list {
		o := outcomes[i]
		switch {
		case errors.Is(o.Err, context.Canceled):
			s.Unsent++
		case o.Err != nil:
			s.Refused = append(s.Refused, records.NewRefusal(r, o.Err))
		default:
			s.Accepted[r.Kind]++
			s.Revision = max(s.Revision, o.Revision)
			if o.Later {
				s.Later++
			}
		}
	}
	return s
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
