package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/services/internal/model/plan"
)

const racks = `{"racks":[
	{"label":"r1","row":"A","cooling":"water","units":42,"locked":true,"audited":"2024-02-03","keeper":"Mia"},
	{"label":"r2","row":"A","cooling":"air","units":24,"locked":false,"audited":"2023-06-01","keeper":null},
	{"label":"r3","row":"B","cooling":"water","units":42,"locked":true,"audited":"2024-09-09"},
	{"label":"r4","row":"B","cooling":"air","units":36,"locked":false,"audited":"2022-01-01","keeper":"Olaf"}],
	"shelves":[{"label":"s1","row":"C","cooling":"none","load":3},{"label":"s2","row":"C","cooling":"none","load":8}]}`

// colors has more values than a note lists.
const colors = `{"lamps":[{"id":1,"color":"dark red"},{"id":2,"color":"red"},{"id":3,"color":"pale red"},{"id":4,"color":"blue"},{"id":5,"color":"green"},
	{"id":6,"color":"teal"},{"id":7,"color":"gold"},{"id":8,"color":"grey"},{"id":9,"color":"pink"},
	{"id":10,"color":"black"},{"id":11,"color":"white"}]}`

// checked is a call as a small model writes it, and what remains of it.
type checked struct {
	name, estate, question string
	call, want             string // the call after Check
	note                   string // in the first problem; empty: there is none
	restriction            *plan.Restriction
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, row := range []checked{
		{
			"a correct call is kept", racks, "how many racks in row A are locked?",
			`{"data_key":"racks","filter":[{"field":"row","op":"eq","value":"A"},{"field":"locked","op":"eq","value":true}],"metric":"count"}`,
			`{"data_key":"racks","filter":[{"field":"row","op":"eq","value":"A"},{"field":"locked","op":"eq","value":true}]}`,
			"", nil,
		},
		{
			"an average without a numeric field is a problem that a second attempt does not solve", racks,
			"what is the average temperature of the racks?",
			`{"data_key":"racks","metric":"avg:units"}`, `{"data_key":"racks","metric":"avg:units"}`,
			"the question does not name units", nil,
		},
		{
			"a counted average without a numeric field is a problem that a second attempt does not solve", racks,
			"what is the average temperature of the racks?",
			`{"data_key":"racks","metric":"count"}`, `{"data_key":"racks"}`, "no field with numbers is named", nil,
		},
		{
			"the conditions of the question replace others", racks, "how many shiny racks are not locked?",
			`{"data_key":"racks","filter":[{"field":"locked","op":"eq","value":true},{"field":"units","op":"gt","value":0}],"metric":"count"}`,
			`{"data_key":"racks","filter":[{"field":"locked","op":"eq","value":false}]}`, "", nil,
		},
		{
			"a denial is dropped when the question denies nothing", racks, "how many shiny racks does Mia keep?",
			`{"data_key":"racks","filter":[{"field":"keeper","op":"missing","value":null},{"field":"cooling","op":"ne","value":"air"}],"metric":"count"}`,
			`{"data_key":"racks","filter":[{"field":"keeper","op":"eq","value":"Mia"}]}`, "", nil,
		},
		{
			"a sum without a total is a count", racks, "how many shiny racks have 42 units?",
			`{"data_key":"racks","metric":"sum:units"}`,
			`{"data_key":"racks","filter":[{"field":"units","op":"eq","value":42}]}`, "", nil,
		},
		{
			"a counted average of some records must be computed", racks, "what is the average units of shiny racks in row A?",
			`{"data_key":"racks","metric":"count"}`, `{"data_key":"racks","filter":[{"field":"row","op":"eq","value":"A"}]}`,
			"compute avg:units",
			&plan.Restriction{DataKey: "racks", Metrics: []string{"avg:units"}},
		},
		{
			"the wrong array is replaced", racks, "how many racks are locked?",
			`{"data_key":"shelves","metric":"count"}`,
			`{"data_key":"racks","filter":[{"field":"locked","op":"eq","value":true}]}`, "", nil,
		},
		{
			"an array that is not there is a problem", racks, "how many bins are locked?",
			`{"data_key":"bins","metric":"count"}`, "", "no data array bins", nil,
		},
		{
			"an unknown value names the field that has it", racks, "how many racks have cooling Olaf?",
			`{"data_key":"racks","filter":[{"field":"cooling","op":"eq","value":"Olaf"}],"metric":"count"}`, "",
			`no record has cooling "Olaf"; keeper has that value`,
			&plan.Restriction{DataKey: "racks", Filter: []string{"keeper"}},
		},
		{
			"an unknown value of few lists them", racks, "how many racks have oil cooling?",
			`{"data_key":"racks","filter":[{"field":"cooling","op":"eq","value":"oil"}],"metric":"count"}`,
			`{"data_key":"racks"}`,
			`no record has cooling "oil"; its values are water, air`, &plan.Restriction{DataKey: "racks"},
		},
		{
			"an unknown value of many lists the nearest", colors, "how many lamps have the color bright red?",
			`{"data_key":"lamps","filter":[{"field":"color","op":"eq","value":"bright red"}],"metric":"count"}`, "",
			`no record has color "bright red", which has 11 other values, such as red`, &plan.Restriction{DataKey: "lamps"},
		},
		{
			"a field that the question names and the call omits is a problem", racks, "how many racks have a cooling?",
			`{"data_key":"racks","metric":"count"}`, `{"data_key":"racks"}`, "the question names cooling",
			&plan.Restriction{DataKey: "racks", Filter: []string{"cooling"}},
		},
		{
			"conditions in words without a filter are a problem", racks, "how many racks are in the shade?",
			`{"data_key":"racks","conditions":"in the shade","metric":"count"}`, `{"data_key":"racks"}`,
			`the condition "in the shade" is not in the filter`,
			&plan.Restriction{DataKey: "racks",
				Filter: []string{"label", "row", "cooling", "units", "locked", "audited", "keeper"}},
		},
		{
			"alternatives of two fields are a problem", racks, "how many racks are in row A or water cooled?",
			`{"data_key":"racks","filter":[{"field":"row","op":"eq","value":"A"},{"field":"cooling","op":"eq","value":"water"}],"metric":"count"}`, "",
			"one computation cannot have alternatives of different fields", nil,
		},
		{
			"two elements of one list are a problem", trams, "how many trams have wifi and a low floor?",
			`{"data_key":"trams","filter":[{"field":"tags","op":"contains","value":"wifi"}],"metric":"count"}`, "", "tags", nil,
		},
		{
			"two elements of one list in the call are a problem", trams, "how many trams have wifi and a low floor?",
			`{"data_key":"trams","filter":[{"field":"tags","op":"contains","value":"wifi"},{"field":"tags","op":"eq","value":"low floor"}],"metric":"count"}`,
			"", "tags", nil,
		},
		{
			"counted distinct values must be computed", racks, "how many different rows are there?",
			`{"data_key":"racks","metric":"count"}`, "", "compute distinct:row",
			&plan.Restriction{DataKey: "racks", Metrics: []string{"distinct:row"}},
		},
		{
			"the rules replace a call of a question whose every word they explain", racks, "how many racks per row?",
			`{"data_key":"racks","metric":"count"}`, `{"data_key":"racks","group_by":"row"}`, "", nil,
		},
		{
			"the records around the nested ones are counted once", greenhouses, "how many greenhouses have tomato?",
			`{"data_key":"greenhouses","metric":"count"}`,
			`{"data_key":"greenhouses.beds","filter":[{"field":"crop","op":"eq","value":"tomato"}],"metric":"distinct:parent.name"}`, "", nil,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			checkRow(t, row)
		})
	}
}

func checkRow(t *testing.T, row checked) {
	p, err := plan.Parse(row.call)
	if err != nil {
		t.Fatal(err)
	}
	q := ask(t, row.estate, row.question)
	c := p.Calls[0]
	problems := plan.Check(q, &c)
	if row.want != "" {
		if got, want := call(c), normalized(t, row.want); got != want {
			t.Errorf("%s\ncall %s\nwant %s", row.question, got, want)
		}
	}
	if row.note == "" {
		if len(problems) > 0 {
			t.Errorf("problems %+v", problems)
		}
		return
	}
	i := slices.IndexFunc(problems, func(p plan.Problem) bool { return strings.Contains(p.Note, row.note) })
	if i < 0 {
		t.Fatalf("problems %+v, want one of %q", problems, row.note)
	}
	if diff := cmp.Diff(row.restriction, problems[i].Restriction); diff != "" {
		t.Errorf("restriction (-want +got):\n%s", diff)
	}
}

func TestRevise(t *testing.T) {
	t.Parallel()
	const question = "what is the average number of units per vendor?"
	const first = `{"data_key":"racks","metric":"count"}`
	for _, row := range []struct{ name, second, want, open string }{
		{"a second call without problems replaces the first", `{"data_key":"racks","metric":"avg:units"}`,
			`{"data_key":"racks","metric":"avg:units"}`, ""},
		{"a second call with as many problems is ignored", `{"data_key":"racks","metric":"min:units"}`,
			`{"data_key":"racks"}`,
			"compute avg:units; the question names units"},
		{"a second plan without a call is ignored", "", `{"data_key":"racks"}`,
			"compute avg:units; the question names units"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			q := ask(t, racks, question)
			p, err := plan.Parse(first)
			if err != nil {
				t.Fatal(err)
			}
			problems := plan.Check(q, &p.Calls[0])
			second, err := plan.Parse(row.second)
			if (err != nil) != (row.second == "") {
				t.Fatal(err)
			}
			p.Calls[0].Revise(q, second, problems)
			if got, want := call(p.Calls[0]), normalized(t, row.want); got != want {
				t.Errorf("call %s, want %s", got, want)
			}
			if got := strings.Join(p.Open(), "; "); got != row.open {
				t.Errorf("open %q, want %q", got, row.open)
			}
		})
	}
}
