package plan_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"cairn/services/internal/model/plan"
)

// TestLink is the table of the manual: how a value of a plan is linked to those of its field.
func TestLink(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		values string // of the field, a JSON list; null: a record without a value
		plan   string // operator and value
		want   string // conditions
		note   string
	}{
		{"an equal value", `["IBM Cloud","Hetzner"]`, `eq "Hetzner"`, `eq "Hetzner"`, ""},
		{"another case", `["IBM Cloud","Hetzner"]`, `eq "hetzner"`, `eq "Hetzner"`, `f: "hetzner" is written "Hetzner"`},
		{"without spaces", `["IBM Cloud","Hetzner"]`, `eq "ibmcloud"`, `eq "IBM Cloud"`,
			`f: "ibmcloud" is written "IBM Cloud"`},
		{"other punctuation", `["eu-west-1","us-east-2"]`, `eq "EU West 1"`, `eq "eu-west-1"`,
			`f: "EU West 1" is written "eu-west-1"`},
		{"a denied value", `["IBM Cloud","Hetzner"]`, `ne "hetzner"`, `ne "Hetzner"`, `f: "hetzner" is written "Hetzner"`},
		{"a plural", `["trawler","ferry"]`, `eq "ferries"`, `eq "ferry"`, `f: "ferries" is written "ferry"`},
		{"a number as text", `[8,16]`, `eq "16"`, `eq 16`, ""},
		{"a text as number", `["8","16"]`, `eq 16`, `eq "16"`, ""},
		{"a number as text in a comparison", `[8,16]`, `gt "10"`, `gt 10`, ""},
		{"a number with separators in a comparison", `[800,1600]`, `gte "1,000"`, `gte 1000`, ""},
		{"a boolean as text", `[true,false]`, `eq "true"`, `eq true`, ""},
		{"a word for a boolean", `[true,false]`, `eq "disabled"`, `eq false`, ""},
		{"a number for a boolean", `[true,false]`, `ne 1`, `ne true`, ""},
		{"a boolean for a text", `["true","false"]`, `eq true`, `eq "true"`, ""},
		{"null", `["a",null]`, `eq null`, `missing null`, ""},
		{"a value other than null", `["a",null]`, `ne null`, `present null`, ""},
		{"an empty text that is no value", `["a",null]`, `eq ""`, `missing null`, ""},
		{"an empty text that is a value", `["a",""]`, `eq ""`, `eq ""`, ""},
		{"missing", `["a",null]`, `missing "a"`, `missing null`, ""},
		{"present", `["a",null]`, `present true`, `present null`, ""},
		{"a year", `["2024-03-05","2023-01-01"]`, `eq "2024"`, `gte "2024", lt "2025"`, ""},
		{"a year as number", `["2024-03-05","2023-01-01"]`, `eq 2024`, `gte "2024", lt "2025"`, ""},
		{"a month", `["2024-03-05","2023-01-01"]`, `eq "2024-03"`, `gte "2024-03", lt "2024-04"`, ""},
		{"the last month of a year", `["2024-12-05","2023-01-01"]`, `eq "2024-12"`, `gte "2024-12", lt "2025-01"`, ""},
		{"a day", `["2024-03-05","2023-01-01"]`, `eq "2024-03-05"`, `eq "2024-03-05"`, ""},
		{"an element of a list", `[["red","blue"],["red"]]`, `eq "Red"`, `contains "red"`, `f: "Red" is written "red"`},
		{"an element that a list lacks", `[["red","blue"],["red"]]`, `ne "blue"`, `lacks "blue"`, ""},
		{"a contained value", `["nginx:1.2","redis:7"]`, `contains "nginx"`, `contains "nginx"`, ""},
		{"spellings of one value", `["Active","active","ACTIVE","off"]`, `eq "active"`,
			`eq "Active", eq "active", eq "ACTIVE"`,
			`f: Active, active, ACTIVE are taken as one value`},
		{"spellings of a denied value", `["in-use","in_use","free"]`, `ne "in use"`, `ne "in-use", ne "in_use"`,
			`f: in-use, in_use are taken as one value`},
		{"objects", `[{"a":1},null]`, `eq true`, `present null`, ""},
		{"no objects", `[{"a":1},null]`, `eq false`, `missing null`, ""},
		{"a value that does not occur", `["a","b"]`, `eq "c"`, "", `problem: no record has f "c"; its values are a, b`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var records []map[string]json.RawMessage
			var values []json.RawMessage
			if err := json.Unmarshal([]byte(row.values), &values); err != nil {
				t.Fatal(err)
			}
			for n, v := range values {
				records = append(records, map[string]json.RawMessage{"id": json.RawMessage(fmt.Sprintf(`"x%d"`, n)), "f": v})
			}
			e := parse(t, string(plan.JSON(map[string]any{"things": records})))
			op, value, _ := strings.Cut(row.plan, " ")
			c := plan.Call{DataKey: "things", Filter: []plan.Condition{{Field: "f", Op: op, Value: json.RawMessage(value)}}}
			note := ""
			for _, p := range plan.LinkValues(plan.New(t.Context(), e).Array("things"), &c) {
				note += "problem: " + p.Note
			}
			var got []string
			for _, condition := range c.Filter {
				got = append(got, fmt.Sprintf("%s %s", condition.Op, condition.Value))
			}
			if got := strings.Join(got, ", "); got != row.want {
				t.Errorf("conditions %s, want %s", got, row.want)
			}
			if note += strings.Join(c.Notes, "; "); note != row.note {
				t.Errorf("note %q, want %q", note, row.note)
			}
		})
	}
}
