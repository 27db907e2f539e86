package ask

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
)

// report is the result of a tool call as text.
type report struct {
	tables []table
	lines  []string // below the tables
	notes  []string // on stderr
}

type table struct {
	columns []string
	rows    [][]string
	total   []string // omitted in CSV
}

// print prints the tables and lines on out and the notes on errOut. CSV is the table alone.
func (r report) print(out, errOut io.Writer, format string) error {
	notes, err := r.notes, error(nil)
	switch {
	case format == "csv" && len(r.tables) > 1:
		return flags.Usage(errors.New("-o csv: expected groups or names of records, got both"))
	case format == "csv":
		err = csv.NewWriter(out).WriteAll(append([][]string{r.tables[0].columns}, r.tables[0].rows...))
		notes = slices.Concat(r.lines, notes)
	default:
		for i, t := range r.tables {
			if i > 0 {
				output.Line(out, "")
			}
			t.print(out)
		}
		output.Lines(out, r.lines)
	}
	for _, note := range notes {
		output.Dimmed(errOut, note)
	}
	return err
}

// print prints the table, or nothing if it has no rows.
func (t table) print(out io.Writer) {
	lines := output.NewTable(out)
	rows := slices.Concat([][]string{t.columns}, t.rows)
	if t.total != nil {
		rows = append(rows, t.total)
	}
	for _, row := range rows {
		if len(rows) > 1 {
			lines.Row(row...)
		}
	}
	lines.Write()
}

// arrays are the arrays of an estate, or those in the records of one.
type arrays struct {
	Arrays []struct {
		DataKey string         `json:"data_key"`
		Count   jsontext.Value `json:"count"`
	} `json:"arrays"`
	Note string `json:"note"` // why there are none
}

func reportArrays(result jsontext.Value) (report, error) {
	var list arrays
	err := json.Unmarshal(result, &list)
	t := table{columns: []string{"DATA_KEY", "COUNT"}}
	for _, array := range list.Arrays {
		t.rows = append(t.rows, []string{array.DataKey, plain(array.Count)})
	}
	r := report{tables: []table{t}, notes: output.NonEmpty(list.Note)}
	if len(t.rows) == 0 {
		r.notes = []string{strings.TrimSuffix("the estate has no array of records: "+list.Note, ": ")}
	}
	return r, err
}

func reportFields(result jsontext.Value) (report, error) {
	var schema struct {
		arrays
		Count   jsontext.Value `json:"count"`
		Details []struct {
			Name     string              `json:"name"`
			Type     string              `json:"type"`
			Unit     string              `json:"unit"`
			Share    jsontext.Value      `json:"share"`
			Distinct jsontext.Value      `json:"distinct"`
			Values   [][2]jsontext.Value `json:"values"` // with their counts
			Examples []jsontext.Value    `json:"examples"`
		} `json:"details"`
		References []struct {
			Field   string `json:"field"`
			DataKey string `json:"data_key"`
			To      string `json:"to"`
		} `json:"references"`
		NameField string `json:"name_field"`
	}
	err := json.Unmarshal(result, &schema)
	t := table{columns: []string{"FIELD", "TYPE", "SHARE", "DISTINCT", "VALUES"}}
	for _, field := range schema.Details {
		values := plainAll(field.Examples)
		for _, value := range field.Values {
			values = append(values, fmt.Sprintf("%s (%s)", plain(value[0]), plain(value[1])))
		}
		kind := strings.TrimSpace(field.Type + " " + field.Unit)
		t.rows = append(t.rows, []string{field.Name, kind, plain(field.Share), plain(field.Distinct),
			strings.Join(values, ", ")})
	}
	notes := []string{plain(schema.Count) + " records"}
	if schema.NameField != "" {
		notes[0] += ", named by " + schema.NameField
	}
	for _, array := range schema.Arrays {
		notes = append(notes, fmt.Sprintf("array %s: %s records", array.DataKey, plain(array.Count)))
	}
	for _, link := range schema.References {
		notes = append(notes, fmt.Sprintf("%s refers to %s of %s", link.Field, link.To, link.DataKey))
	}
	return report{tables: []table{t}, notes: notes}, err
}

// statsResult is the result of compute_stats. Groups, Total and Unit are those of the first metric.
type statsResult struct {
	Groups  members        `json:"groups"`
	Total   jsontext.Value `json:"total"`
	Unit    string         `json:"unit"`
	Metrics map[string]struct {
		Groups map[string]jsontext.Value `json:"groups"`
		Total  jsontext.Value            `json:"total"`
		Unit   string                    `json:"unit"`
	} `json:"metrics"`
	Rows []struct { // groups of several fields
		By      []jsontext.Value          `json:"by"`
		Value   jsontext.Value            `json:"value"`
		Metrics map[string]jsontext.Value `json:"metrics"`
	} `json:"rows"`
	GroupCount int     `json:"group_count"`
	Truncated  bool    `json:"truncated"`
	OverGroups members `json:"over_groups"`
	Names      []struct {
		Name  jsontext.Value `json:"name"`
		Value jsontext.Value `json:"value"`
	} `json:"names"`
	NamesUnit string                    `json:"names_unit"`
	MoreNames int                       `json:"more_names"`
	Share     map[string]jsontext.Value `json:"share"`
	Matched   jsontext.Value            `json:"matched"`
	Records   jsontext.Value            `json:"records"`
	Coverage  members                   `json:"coverage"` // how the values of fields were read
	Note      string                    `json:"note"`
}

// members are the members of a JSON object in their order.
type members []member

type member struct {
	name  string
	value jsontext.Value
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (m *members) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	_, err := d.ReadToken() // {
	for err == nil && d.PeekKind() == jsontext.KindString {
		var entry member
		if err = json.UnmarshalDecode(d, &entry.name); err == nil {
			err = json.UnmarshalDecode(d, &entry.value)
		}
		*m = append(*m, entry)
	}
	if err == nil {
		_, err = d.ReadToken() // }
	}
	return err
}

func reportStats(query, result jsontext.Value) (report, error) {
	var s statsResult
	var q struct {
		GroupBy jsontext.Value `json:"group_by"`
		Metrics jsontext.Value `json:"metrics"`
	}
	if err := errors.Join(json.Unmarshal(result, &s), json.Unmarshal(query, &q)); err != nil {
		return report{}, err
	}
	fields, metrics := texts(q.GroupBy), s.metricNames(texts(q.Metrics))
	r := report{notes: s.notes(metrics)}
	if len(fields) > 0 || q.Metrics != nil || s.Names == nil {
		r.tables = append(r.tables, s.groupTable(fields, metrics))
	}
	if s.Names != nil {
		r.tables = append(r.tables, s.nameTable())
	}
	for _, figure := range s.OverGroups {
		r.lines = append(r.lines, fmt.Sprintf("%s of the groups: %s", figure.name, plain(figure.value)))
	}
	if s.Share != nil {
		line := fmt.Sprintf("share: %s of %s records", plain(s.Share["records"]), plain(s.Share["of"]))
		if percent := s.Share["percent"]; percent.Kind() == jsontext.KindNumber { // of no records, there is none
			line += ", " + plain(percent) + " %"
		}
		r.lines = append(r.lines, line)
	}
	return r, nil
}

// texts returns a JSON string, or the strings of an array, without empty ones.
func texts(v jsontext.Value) []string {
	list := make([]string, 1)
	if json.Unmarshal(v, &list[0]) != nil && json.Unmarshal(v, &list) != nil {
		return nil
	}
	return slices.DeleteFunc(list, func(text string) bool { return text == "" })
}

// metricNames returns the metrics of the result in the order of the query. The server adds the count if
// the first one is not a number.
func (s *statsResult) metricNames(requested []string) []string {
	names := []string{"count"}
	for i, name := range requested {
		_, further := s.Metrics[name]
		switch {
		case i == 0 && !further:
			names[0] = name
		case !slices.Contains(names, name):
			names = append(names, name)
		}
	}
	return names
}

// groupTable returns a row for each group, or without fields the total.
func (s *statsResult) groupTable(fields, metrics []string) table {
	t := table{columns: slices.Concat(fields, metrics), total: make([]string, len(fields))}
	for _, group := range s.Groups {
		row := []string{group.name, plain(group.value)}
		for _, metric := range metrics[1:] {
			row = append(row, plain(s.Metrics[metric].Groups[group.name]))
		}
		t.rows = append(t.rows, row)
	}
	for _, group := range s.Rows {
		row := append(plainAll(group.By), plain(group.Value))
		for _, metric := range metrics[1:] {
			row = append(row, plain(group.Metrics[metric]))
		}
		t.rows = append(t.rows, row)
	}
	t.total = append(t.total, plain(s.Total))
	for _, metric := range metrics[1:] {
		t.total = append(t.total, plain(s.Metrics[metric].Total))
	}
	if len(fields) == 0 {
		return table{columns: metrics, rows: [][]string{t.total}}
	}
	t.total[0] = "total"
	return t
}

// nameTable returns the names of records, with the values that order them.
func (s *statsResult) nameTable() table {
	t := table{columns: []string{"NAME"}}
	for _, record := range s.Names {
		row := []string{plain(record.Name)}
		if record.Value != nil {
			t.columns, row = []string{"NAME", "VALUE"}, append(row, plain(record.Value))
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// notes returns what the tables do not show.
func (s *statsResult) notes(metrics []string) []string {
	var facts []string
	if s.Records != nil {
		facts = append(facts, fmt.Sprintf("matched %s of %s records", plain(s.Matched), plain(s.Records)))
	}
	if s.MoreNames > 0 {
		facts = append(facts, fmt.Sprintf("%d more names", s.MoreNames))
	}
	if s.Truncated {
		facts = append(facts, fmt.Sprintf("%d of %d groups", len(s.Groups)+len(s.Rows), s.GroupCount))
	}
	for i, metric := range metrics {
		unit := s.Metrics[metric].Unit
		if i == 0 {
			unit = s.Unit
		}
		if unit != "" {
			facts = append(facts, metric+" in "+unit)
		}
	}
	if s.NamesUnit != "" {
		facts = append(facts, "values in "+s.NamesUnit)
	}
	notes := []string{strings.Join(facts, "; ")}
	for _, field := range s.Coverage {
		notes = append(notes, field.name+": "+plain(field.value))
	}
	return output.NonEmpty(append(notes, s.Note)...)
}

// plain returns a JSON value as text: a string without quotes, nothing for an absent value.
func plain(v jsontext.Value) string {
	var text string
	if v.Kind() == jsontext.KindString && json.Unmarshal(v, &text) == nil {
		return text
	}
	return string(v)
}

func plainAll(values []jsontext.Value) []string {
	list := make([]string, len(values))
	for i, value := range values {
		list[i] = plain(value)
	}
	return list
}
