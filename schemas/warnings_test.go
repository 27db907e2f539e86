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
	got, err := schemas.References(schemas.KindSkill, []byte(`{"skill_id":"a.b","tool_ids":["x.y.z"],"template_id":"t","replaced_by":"a.c"}`))
	if want := "[{record.tool_ids[0] tool x.y.z} {record.template_id template t} {record.replaced_by skill a.c}]"; err != nil ||
		fmt.Sprint(got) != want {
		t.Errorf("got %v, %v, want %s", got, err, want)
	}
}

func TestPreconditionSyntax(t *testing.T) {
	t.Parallel()
	for tags, valid := range map[string]bool{
		``: true, `*`: true, `"a-1"`: true, `W/"a-1", "a-2"`: true, `a-1`: false, `"a-1", a-2`: false,
		`"` + strings.Repeat("a", 5000) + `"`: false,
	} {
		for _, p := range []schemas.Precondition{{IfMatch: tags}, {IfNoneMatch: tags}} {
			if err := p.Validate(); (err == nil) != valid {
				t.Errorf("%.20q: got %v, want valid %t", tags, err, valid)
			}
		}
	}
}
