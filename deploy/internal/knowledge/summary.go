package knowledge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/deploy/internal/records"
	"cairn/edge/client"
	"cairn/schemas"
)

// valid is the action of a record that was validated only.
const valid = "valid"

// change is a record that apply writes or deletes.
type change struct {
	Action string `json:"action"`
	Kind   string `json:"kind"`
	ID     string `json:"id"`
	Tenant string `json:"tenant_id,omitzero"`
}

// warning is a warning about a stored record.
type warning struct {
	Source string `json:"source"`
	Kind   string `json:"kind"`
	ID     string `json:"id"`
	schemas.FieldError

	absent schemas.RecordKey // the record that the field references; zero: none
}

// summary counts the results of an apply. add may be called concurrently for different records.
type summary struct {
	Accepted map[string]int      `json:"accepted"` // by kind
	Actions  map[string]int      `json:"actions"`  // by action
	Changes  []change            `json:"changes,omitempty"`
	Later    int                 `json:"searchable_later,omitempty"`
	Rejected []records.Rejection `json:"refused"`
	Warnings []warning           `json:"warnings,omitempty"`
	Unsent   int                 `json:"unsent,omitempty"` // not sent because of an interrupt
	Retries  int64               `json:"retries,omitempty"`
	Revision uint64              `json:"revision,omitempty"`
	Seconds  float64             `json:"seconds"`
	DryRun   string              `json:"dry_run,omitempty"`

	list    []records.Record
	records map[change]records.Record // the records of the files, by changes without actions
	first   error                     // of the first rejected record

	actions     []string
	outcomes    []records.Outcome
	differences []difference // for printDifferences
}

func newSummary(list []records.Record, dry string) *summary {
	s := &summary{
		Accepted: map[string]int{}, Actions: map[string]int{}, Rejected: []records.Rejection{}, list: list,
		records: map[change]records.Record{},
		actions: make([]string, len(list)), outcomes: make([]records.Outcome, len(list)),
		differences: make([]difference, len(list)),
	}
	if dry != dryNone {
		s.DryRun = dry
	}
	for _, r := range list {
		s.records[change{Kind: r.Kind, ID: r.ID, Tenant: r.Tenant}] = r
	}
	return s
}

func (s *summary) add(i int, action string, o records.Outcome) {
	s.actions[i], s.outcomes[i] = action, o
}

func (s *summary) has(kind, id, tenant string) bool {
	_, ok := s.records[change{Kind: kind, ID: id, Tenant: tenant}]
	return ok
}

func (s *summary) prune(r client.Record) {
	s.Actions[pruned]++
	s.Changes = append(s.Changes, change{pruned, r.Kind, r.ID, r.Tenant})
}

// count counts the outcomes.
func (s *summary) count() {
	for i, r := range s.list {
		o, action := s.outcomes[i], s.actions[i]
		switch {
		case errors.Is(o.Err, context.Canceled):
			s.Unsent++
			continue
		case o.Err != nil:
			s.Rejected = append(s.Rejected, records.NewRejection(r, o.Err))
			if s.first == nil {
				s.first = o.Err
			}
			continue
		}
		s.Accepted[r.Kind]++
		s.Actions[action]++
		if action == created || action == configured {
			s.Changes = append(s.Changes, change{action, r.Kind, r.ID, r.Tenant})
		}
		s.Revision = max(s.Revision, o.Revision)
		if o.Later {
			s.Later++
		}
		s.warn(r, append(r.Warnings, o.Warnings...))
	}
}

// warn adds warnings about a record, except about references to other records of the
// files, which may have been registered after it.
func (s *summary) warn(r records.Record, list []schemas.FieldError) {
	if len(list) == 0 {
		return
	}
	inFiles := s.references(r)
	references, _ := schemas.References(r.Kind, r.JSON) // a valid record
	for _, w := range list {
		if len(inFiles[w.Field]) > 0 {
			continue
		}
		var absent schemas.RecordKey
		for _, reference := range references {
			if w.Field == "record."+reference.Field && !strings.Contains(w.Message, "mean") {
				absent = schemas.RecordKey{Kind: reference.Kind, ID: reference.ID, TenantID: schemas.Optional(r.Tenant)}
			}
		}
		s.Warnings = append(s.Warnings, warning{r.Source, r.Kind, r.ID, w, absent})
	}
}

// suggest adds the ids of the catalog that are similar to those of absent records, to the first warnings.
func (s *summary) suggest(ctx context.Context, c *client.Client) {
	const maxWarnings, maxIDs = 10, 500
	for i := range s.Warnings[:min(maxWarnings, len(s.Warnings))] {
		w := &s.Warnings[i]
		if w.absent.ID == "" {
			continue
		}
		prefix, _, _ := strings.Cut(w.absent.ID, ".")
		q := schemas.RecordQuery{Kind: w.absent.Kind, TenantID: w.absent.TenantID, Prefix: prefix, Limit: new(maxIDs)}
		var ids []string
		similar, _, _ := connect.First(c.List(ctx, q), maxIDs) // those before an error
		for _, r := range similar {
			ids = append(ids, r.ID)
		}
		w.Message += flags.DidYouMean(w.absent.ID, ids)
	}
}

// references returns the records of the files that r may reference, by the field of the
// reference.
func (s *summary) references(r records.Record) map[string][]change {
	inFiles := map[string][]change{}
	references, _ := schemas.References(r.Kind, r.JSON) // a valid record
	for _, reference := range references {
		for _, tenant := range []string{r.Tenant, ""} {
			if s.has(reference.Kind, reference.ID, tenant) {
				field := "record." + reference.Field
				inFiles[field] = append(inFiles[field], change{Kind: reference.Kind, ID: reference.ID, Tenant: tenant})
			}
		}
	}
	return inFiles
}

// retryable returns the records that were rejected only for references to records later in the
// input, which are registered by now or retryable, too.
func (s *summary) retryable(indexes []int) []int {
	rejected := map[change]bool{}
	waiting := map[int][]change{}
	for i, o := range s.outcomes {
		if o.Err != nil {
			rejected[s.record(i)] = true
		}
	}
	for _, i := range indexes {
		if absent, ok := s.absentReferences(i); ok {
			waiting[i], rejected[s.record(i)] = absent, false
		}
	}
	for before := -1; before != len(waiting); {
		before = len(waiting)
		maps.DeleteFunc(waiting, func(i int, absent []change) bool {
			rejected[s.record(i)] = slices.ContainsFunc(absent, func(c change) bool { return rejected[c] })
			return rejected[s.record(i)]
		})
	}
	return slices.Sorted(maps.Keys(waiting))
}

// record returns the record with the index i, without an action.
func (s *summary) record(i int) change {
	return change{Kind: s.list[i].Kind, ID: s.list[i].ID, Tenant: s.list[i].Tenant}
}

// absentReferences returns the records of the files for whose absence the record with the index i
// was rejected. ok is false if there is another reason.
func (s *summary) absentReferences(i int) (absent []change, ok bool) {
	var e *schemas.Error
	if !errors.As(s.outcomes[i].Err, &e) || e.Code != schemas.ErrInvalidRegistration.Code || len(e.Fields) == 0 {
		return nil, false
	}
	inFiles := s.references(s.list[i])
	for _, f := range e.Fields {
		if len(inFiles[f.Field]) == 0 {
			return nil, false
		}
		absent = append(absent, inFiles[f.Field]...)
	}
	return absent, true
}

// printDifferences writes the accepted records that differ from the registered ones as a
// unified diff.
func (s *summary) printDifferences(out io.Writer) error {
	for i, d := range s.differences {
		if d.wanted == nil || s.outcomes[i].Err != nil {
			continue
		}
		if _, err := d.print(out, s.list[i]); err != nil {
			return err
		}
	}
	return nil
}

// write adds the summary as text.
func (s *summary) write(t *output.Table) {
	accepted := 0
	for _, n := range s.Accepted {
		accepted += n
	}
	verb := map[string]string{"": "applied", dryServer: "compared", dryClient: "validated"}[s.DryRun]
	text := fmt.Sprintf("%s %d of %d records in %.1f s", verb, accepted, len(s.list), s.Seconds)
	if counts := s.actionCounts(); counts != "" {
		text += ": " + counts
	}
	t.Row(text)
	for _, kind := range schemas.Kinds() {
		if n := s.Accepted[kind]; n > 0 {
			t.Row("  "+kind, fmt.Sprint(n))
		}
	}
	for _, c := range s.Changes {
		if s.DryRun != "" || c.Action == pruned {
			t.Row("  " + output.Joined(c.Action, name(c.Kind, c.ID), c.Tenant))
		}
	}
	s.rows(t)
}

// actionCounts returns the number of records by action.
func (s *summary) actionCounts() string {
	var list []string
	for _, action := range []string{created, configured, unchanged, pruned} {
		if n := s.Actions[action]; n > 0 {
			list = append(list, fmt.Sprintf("%d %s", n, action))
		}
	}
	return strings.Join(list, ", ")
}

// rows adds the rows about problems.
func (s *summary) rows(t *output.Table) {
	if s.Later > 0 {
		t.Row(fmt.Sprintf("%d are durable but not searchable yet, until a dependency recovers: see cairn status", s.Later))
	}
	if s.Unsent > 0 {
		t.Row(fmt.Sprintf("%d not sent: interrupted", s.Unsent))
	}
	problems := make([]problem, len(s.Warnings))
	for i, w := range s.Warnings {
		text := w.Field + ": " + w.Message
		problems[i] = problem{text, output.Joined(w.Source, w.Kind, w.ID, text)}
	}
	problemRows(t, "warnings", problems)
	problems = make([]problem, len(s.Rejected))
	for i, f := range s.Rejected {
		problems[i] = problem{f.Reason(), f.Source + "  " + f.String()}
	}
	problemRows(t, "rejected", problems)
}

// problem is a warning about a record, or the reason for its rejection.
type problem struct{ message, row string }

// problemRows adds the rows of the problems. If some share a message apart from the rejected value, it adds the number
// of each message before, the most frequent first.
func problemRows(t *output.Table, title string, problems []problem) {
	if len(problems) == 0 {
		return
	}
	t.Row(fmt.Sprintf("%s %d:", title, len(problems)))
	reasons := map[string]int{}
	for _, p := range problems {
		reason, _, _ := strings.Cut(p.message, ", got ")
		reasons[reason]++
	}
	if len(reasons) < len(problems) {
		for _, reason := range slices.SortedFunc(maps.Keys(reasons), func(a, b string) int {
			return cmp.Or(cmp.Compare(reasons[b], reasons[a]), cmp.Compare(a, b))
		}) {
			t.Row(fmt.Sprintf("  %d × %s", reasons[reason], reason))
		}
	}
	for _, p := range problems {
		t.Row("  " + p.row)
	}
}
