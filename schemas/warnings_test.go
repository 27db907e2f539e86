package schemas_test

import (
	"fmt"
	"strings"
	"testing"

	"cairn/schemas"
)

// TestReferencesOfOtherKinds: a kind may have a field of any type that it does not
// interpret.
func TestReferencesOfOtherKinds(t *testing.T) {
	t.Parallel()
	for kind, record := range map[string]string{
		schemas.KindAgent: `{"agent_id":"a.b","tool_ids":"a.b.c","template_id":5}`,
		schemas.KindTool:  `{"tool_id":"a.b.c","skill_ids":{},"template_id":["t"]}`,
	} {
		if got, err := schemas.References(kind, []byte(record)); err != nil || len(got) != 0 {
			t.Errorf("%s: got %v, %v; want no references", record, got, err)
		}
	}
	got, err := schemas.References(schemas.KindSkill,
		[]byte(`{"skill_id":"a.b","tool_ids":["x.y.z"],"template_id":"t","replaced_by":"a.c"}`))
	if want := "[{tool_ids[0] tool x.y.z} {template_id template t} {replaced_by skill a.c}]"; err != nil ||
		fmt.Sprint(got) != want {
		t.Errorf("got %v, %v, want %s", got, err, want)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	for record, want := range map[string]string{
		`{"vesrion":"1.0.0"}`:                            "vesrion: unknown field; did you mean version?",
		`{"tools":["a.b.c"]}`:                            "tools: unknown field; did you mean tool_ids?",
		`{"tenant":"x"}`:                                 "tenant: unknown field; did you mean tenant_id?",
		`{"displayName":"x"}`:                            "displayName: unknown field; did you mean display_name?",
		`{"resources":[{"path":"a"},{"mediatype":"x"}]}`: "resources[1].mediatype: unknown field; did you mean media_type?",
		`{"status":"actve"}`: `status: unknown status "actve", with which records are neither found nor listed; ` +
			`expected one of draft, active, deprecated, retired`,
		`{"status":"retired","owner":"x","compatibility":"y","allowed-tools":"z","metadata":{}}`: "",
		`{"tools":[],"tool_ids":[],"resources":[]}`:                                              "",
	} {
		got, err := schemas.Warnings(schemas.KindSkill, []byte(record))
		var texts []string
		for _, w := range got {
			texts = append(texts, w.Field+": "+w.Message)
		}
		if strings.Join(texts, "; ") != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", record, texts, err, want)
		}
	}
}

func TestWarningsOfRecordsWithoutEffect(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, kind, record, want string }{
		{"a guardrail without text", schemas.KindGuardrail, `{"guardrail_id":"g","domain":"net","description":" "}`, "description"},
		{"a guardrail with a description", schemas.KindGuardrail, `{"description":"x"}`, ""},
		{"a guardrail with a field of its own", schemas.KindGuardrail, `{"rules":["x"]}`, ""},
		{"a context builder without instructions and tools", schemas.KindContextBuilder,
			`{"context_builder_id":"b","domain":"net","tool_ids":[],"description":"x"}`, "instructions"},
		{"a context builder with a tool", schemas.KindContextBuilder, `{"tool_ids":["a.b.c"]}`, ""},
		{"a context builder with instructions", schemas.KindContextBuilder, `{"instructions":"x"}`, ""},
		{"a template without body", schemas.KindTemplate, `{"template_id":"t","description":"x"}`, "body"},
		{"a template with a field of its own", schemas.KindTemplate, `{"template_id":"t","blocks":[1]}`, ""},
		{"a template with undeclared variables", schemas.KindTemplate,
			`{"body":"{{a}} {{ b }} {{b}} {{c d}}","variables":[{"name":"a"}]}`, "body"},
		{"a template with declared variables", schemas.KindTemplate, `{"body":"{{a}}","variables":[{"name":"a"}]}`, ""},
		{"a tool without anything", schemas.KindTool, `{}`, ""},
	} {
		var fields []string
		got, err := schemas.Warnings(row.kind, []byte(row.record))
		for _, w := range got {
			fields = append(fields, w.Field)
		}
		if strings.Join(fields, " ") != row.want || err != nil {
			t.Errorf("%s: got %v, %v, want %q", row.name, got, err, row.want)
		}
	}
}

// TestWarningsAreBounded: the reply has no more warnings.
func TestWarningsAreBounded(t *testing.T) {
	t.Parallel()
	var members []string
	for i := range 100 {
		members = append(members, fmt.Sprintf(`"display_nam%c":0`, rune('à'+i)))
	}
	for name, record := range map[string]string{
		"misspelt members of the record": `{` + strings.Join(members, ",") + `}`,
		"misspelt members of resources":  `{"resources":[` + strings.Repeat(`{"mediatype":"x"},`, 99) + `{}]}`,
	} {
		if got, err := schemas.Warnings(schemas.KindSkill, []byte(record)); err != nil || len(got) != 20 {
			t.Errorf("%s: got %d warnings, %v; want 20", name, len(got), err)
		}
	}
}

// TestUnknownMembersAreCheap checks that the work for an unknown member does not depend on the
// number of fields that a record lacks. It is not parallel: it counts the allocations of the process.
func TestUnknownMembersAreCheap(t *testing.T) {
	const members, maxAllocs = 1000, 20
	var record strings.Builder
	record.WriteString(`{"skill_id":"a.b"`)
	for i := range members {
		fmt.Fprintf(&record, `,"a%d":0`, i)
	}
	record.WriteString("}")
	allocs := testing.AllocsPerRun(3, func() {
		if got, err := schemas.Warnings(schemas.KindSkill, []byte(record.String())); err != nil || len(got) > 0 {
			t.Errorf("got %v, %v; want no warnings", got, err)
		}
	})
	if allocs > members*maxAllocs {
		t.Errorf("got %.0f allocations for %d unknown members, want at most %d each", allocs, members, maxAllocs)
	}
}

// TestNormalizeRecord: stored records of earlier versions may have nulls.
func TestNormalizeRecord(t *testing.T) {
	t.Parallel()
	for record, want := range map[string]string{
		`{"skill_id":"a.b","tenant_id":null,"purpose":null,"extra":null,"x":[null]}`: `{"skill_id":"a.b","tenant_id":null,"extra":null,"x":[null]}`,
		`{"capabilities":["a",null],"labels":{"a":null,"b":"c"}}`:                    `{"capabilities":["a"],"labels":{"b":"c"}}`,
		`{"resources":[{"path":"a","media_type":null,"x":null},null]}`:               `{"resources":[{"path":"a","x":null}]}`,
		`{"purpose":"null","capabilities":"null"}`:                                   `{"purpose":"null","capabilities":"null"}`,
		`{"purpose": null, "tool_ids": 7}`:                                           `{"tool_ids":7}`,
	} {
		if got := schemas.NormalizeRecord(schemas.KindSkill, []byte(record)); string(got) != want {
			t.Errorf("%s: got %s, want %s", record, got, want)
		}
	}
}

func TestPreconditionSyntax(t *testing.T) {
	t.Parallel()
	for tags, valid := range map[string]bool{
		`*`: true, `"a-1"`: true, `W/"a-1", "a-2"`: true, `a-1`: false, `"a-1", a-2`: false,
		`"` + strings.Repeat("a", 5000) + `"`: false,
	} {
		if err := schemas.CheckTags(tags); (err == nil) != valid {
			t.Errorf("%.20q: got %v, want valid %t", tags, err, valid)
		}
	}
}

func TestEditDistance(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		a, b        string
		limit, want int
	}{
		{"", "", 0, 0}, {"", "ab", 2, 2}, {"ab", "", 2, 2}, {"abc", "abc", 0, 0}, {"abc", "acb", 1, 1}, {"abc", "abd", 1, 1},
		{"abc", "ab", 1, 1}, {"ca", "abc", 9, 3}, {"ca", "abc", 3, 3}, {"ca", "abc", 2, 3}, {"abc", "xyz", 1, 2},
		{"", "abc", 1, 2},
		{"", "", -1, 0},
	} {
		if got := schemas.EditDistance(row.a, row.b, row.limit); got != row.want {
			t.Errorf("EditDistance(%q, %q, %d) = %d, want %d", row.a, row.b, row.limit, got, row.want)
		}
	}
}

// TestEditDistanceLimit checks that a limit changes no distance within it.
func TestEditDistanceLimit(t *testing.T) {
	t.Parallel()
	texts := []string{""}
	for i := 0; len(texts[i]) < 5; i++ {
		texts = append(texts, texts[i]+"a", texts[i]+"b")
	}
	for _, a := range texts {
		for _, b := range texts {
			distance := schemas.EditDistance(a, b, len(a)+len(b))
			for limit := range 5 {
				if got, want := schemas.EditDistance(a, b, limit), min(distance, limit+1); got != want {
					t.Errorf("EditDistance(%q, %q, %d) = %d, want %d", a, b, limit, got, want)
				}
			}
		}
	}
}
