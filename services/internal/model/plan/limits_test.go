package plan_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"cairn/services/internal/estate"
	"cairn/services/internal/model"
	"cairn/services/internal/model/modeltest"
	"cairn/services/internal/model/offline"
	"cairn/services/internal/model/plan"
)

const (
	maxSchemaBytes = 200_000
	maxPromptBytes = 40_000 // with a question of 10,000 characters
	maxClaims      = 400
)

// TestPlanningLimits checks that plans of hostile estates and questions are bounded.
func TestPlanningLimits(t *testing.T) {
	t.Parallel()
	var fields, values, names, same []string
	for i := range 4000 {
		fields = append(fields, fmt.Sprintf(`"big field %d":%d`, i, i))
	}
	for i := range 10_000 {
		values = append(values, fmt.Sprintf(`{"id":%d,"v":"big red %d"}`, i, i))
		same = append(same, fmt.Sprintf(`{"id":%d,"v":"%s"}`, i, spelling("bigredvalue", i)))
	}
	for i := range 60 {
		names = append(names, fmt.Sprintf(`"%s":%d`, strings.Repeat(fmt.Sprintf("deep%d.", i), 50), i))
	}
	wide := `{"things":[{` + strings.Join(fields, ",") + `},{}]}`
	repeated := strings.Repeat("how many big field things per big field of big red value ", 200)[:10_000]
	for _, row := range []struct{ name, estate, question string }{
		{"a question of 10,000 characters over 4,000 fields", wide, repeated},
		{"a question that names 4,000 fields", wide, strings.Repeat("how many things have big field 17 over 5 ", 7)},
		{"10,000 values that repeat the question", `{"things":[` + strings.Join(values, ",") + `]}`, repeated},
		{"10,000 values with the words of a short question", `{"things":[` + strings.Join(values, ",") + `]}`,
			"how many things are big red 77 and not big red 78?"},
		{"10,000 spellings of one value", `{"things":[` + strings.Join(same, ",") + `]}`, "how many things are bigredvalue?"},
		{"deep and long names", `{"` + strings.Repeat("long", 300) + `":[{` + strings.Join(names, ",") + `},{}]}`,
			"how many deep things per deep5 and " + repeated[:500]},
		{"deep arrays", `{"a":` + strings.Repeat(`[{"b":`, 40) + `1` + strings.Repeat(`}]`, 40) + `}`,
			"how many b are in b of b per b?"},
		{"300 arrays", manyArrays(300), "how many " + noun(299) + "s are on and off in " + repeated[:500]},
		{"invalid UTF-8", "{\"th\xffings\":[{\"na\xfeme\":\"v\xfdalue\"},{\"na\xfeme\":\"w\xfd\"}]}",
			"how many th\xffings are v\xfdalue \xf0\x28?"},
		{"a question of one long word", boats, strings.Repeat("boat", 2500)},
		{"a question of signs", boats, strings.Repeat("<>=% ", 2000)},
		{"a question of negations", boats, strings.Repeat("not no ferries without ", 400)},
		{"a question of numbers", boats, "boats with crew " + strings.Repeat("5 or more than 3 ", 40)},
		{"no question", boats, ""},
		{"no data", `{}`, "how many boats are there?"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			e := parse(t, row.estate)
			q := plan.Ask(plan.New(t.Context(), e), row.question)
			p := plan.Propose(q)
			if n := len(p.JSON()); n > 16<<10 {
				t.Errorf("a plan of %d bytes, want one that Parse reads", n)
			}
			for i := range p.Calls {
				if n := len(p.Calls[i].Filter); n > maxClaims {
					t.Errorf("%d conditions, want at most %d", n, maxClaims)
				}
				problems := plan.Check(q, &p.Calls[i])
				stats(t, e, q, p.Calls[i])
				if n := len(p.Calls[i].Filter); n > estate.MaxValues || len(problems) > maxClaims {
					t.Errorf("%d conditions and %d problems", n, len(problems))
				}
				for _, problem := range problems {
					if len(problem.Note) > 4000 {
						t.Errorf("a note of %d bytes", len(problem.Note))
					}
				}
				for _, note := range p.Calls[i].Notes {
					if len(note) > 4000 {
						t.Errorf("a note of %d bytes", len(note))
					}
				}
			}
			prompt := plan.NewPrompt(q)
			if n := len(prompt.System) + len(prompt.User); n > maxPromptBytes {
				t.Errorf("a prompt of %d bytes, want at most %d", n, maxPromptBytes)
			}
			if schema := plan.NewSchema(q, prompt.Arrays, plan.Restriction{}); len(schema) > maxSchemaBytes ||
				!json.Valid(schema) {
				t.Errorf("a schema of %d bytes, want JSON of at most %d", len(schema), maxSchemaBytes)
			}
			if n := len(plan.Suggestions(q)); n > 3 {
				t.Errorf("%d suggestions, want at most 3", n)
			}
		})
	}
}

// spelling returns the word in one of 1,024 cases of its letters.
func spelling(word string, n int) string {
	letters := []byte(word)
	for i := range 10 {
		if n>>i&1 == 1 {
			letters[i] -= 'a' - 'A'
		}
	}
	return string(letters)
}

// TestPlanningCancellation checks that a canceled context ends planning with its error, not with a plan of an
// incomplete vocabulary.
func TestPlanningCancellation(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, estate string }{
		{"a small estate", boats}, {"300 arrays", manyArrays(300)}, {"10,000 fields", wideEstate(10_000)},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			q := plan.Ask(plan.New(ctx, parse(t, row.estate)), "how many boats are insured?")
			got, err := modeltest.Collect(ctx, offline.New(), model.Conversation{Question: q})
			if !errors.Is(err, context.Canceled) || got.Text != "" || got.Usage != nil {
				t.Errorf("message %+v, error %v, want %v", got, err, context.Canceled)
			}
		})
	}
}

// FuzzPlan checks that no estate, question and plan make planning panic, and that the schema is JSON.
func FuzzPlan(f *testing.F) {
	for _, seed := range [][3]string{
		{boats, "which 2 boats in Tromso have the largest crew?",
			`{"calls":[{"data_key":"boats","filter":[{"field":"crew","op":"gt","value":"5"}],"metric":"max:crew"}]}`},
		{greenhouses, "how many tomato beds on the coast have no open valve since 2024?",
			`{"data_key":"greenhouses.beds","group_by":"parent.name","metric":"distinct:crop"}`},
		{printers, "total memory in GB",
			`{"calls":[{"data_key":"printers","metric":"sum:memory"},{"data_key":"scanners"},{"not_in_data":"x"}]}`},
		{paint, "which tin is red or not in Rome?",
			`{"data_key":"tins","filter":[{"field":"lid_color","op":"eq","value":null},{"field":"lid_color","op":"ne"}]}`},
		{hostileNames(), "how many quo\"te back\\slash?",
			`{"data_key":"things","filter":[{"field":"","op":"eq","value":""}],"group_by":"parent.x"}`},
		{`[{"a":[1,"1",true,null]},{"a":{"b":[[{}]]}}]`, "is a 1 of 1?",
			`{"data_key":"items","filter":[{"field":"a","op":"lacks","value":[1]}]}`},
		{`{"a":[{"b":"x","c":[{"d":1}]}],"e":{"f":[{"b":"X "}]}}`, "top 3 b by c", `{"overview":true}`},
		{kinds, "how many pumps?",
			`{"calls":[{"data_key":"items","filter":[{"field":"kind","op":"contains","value":"pum"}],"metric":"p50:kind"}]}`},
	} {
		f.Add([]byte(seed[0]), seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, text []byte, question, planned string) {
		e, err := estate.Parse(text)
		if err != nil {
			return
		}
		q := plan.Ask(plan.New(t.Context(), e), question)
		proposed := plan.Propose(q)
		again, err := plan.Parse(string(proposed.JSON()))
		if err != nil || len(again.Calls) != len(proposed.Calls) {
			t.Errorf("proposed %s, which Parse does not read: %v", proposed.JSON(), err)
		}
		prompt := plan.NewPrompt(q)
		if schema := plan.NewSchema(q, prompt.Arrays, plan.Restriction{}); !json.Valid(schema) {
			t.Errorf("schema %s", schema)
		}
		for _, err := range fuzzPlan(t, e, q, prompt, proposed) {
			t.Errorf("proposed %s, which cannot be computed: %v", proposed.JSON(), err)
		}
		if parsed, err := plan.Parse(planned); err == nil {
			fuzzPlan(t, e, q, prompt, parsed)
		}
	})
}

// fuzzPlan checks and computes the calls of a plan. It returns the errors of computations, which a plan of a model
// may have.
func fuzzPlan(t *testing.T, e *estate.Estate, q *plan.Question, prompt plan.Prompt, p plan.Plan) (errs []error) {
	for i := range p.Calls {
		c := &p.Calls[i]
		problems := plan.Check(q, c)
		for _, problem := range problems {
			if problem.Restriction == nil {
				continue
			}
			if schema := plan.NewSchema(q, prompt.Arrays, *problem.Restriction); !json.Valid(schema) {
				t.Errorf("schema %s", schema)
			}
		}
		c.Revise(q, plan.Plan{Calls: []plan.Call{*c}}, problems)
		var query estate.Query
		if err := json.Unmarshal(plan.JSON(c.Query(q.Intent())), &query); err != nil {
			t.Errorf("query of %+v: %v", *c, err)
		}
		if _, err := e.Stats(t.Context(), query); err != nil && len(problems) == 0 {
			errs = append(errs, err)
		}
	}
	p.Compact()
	return errs
}
