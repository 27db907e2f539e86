package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"cairn/services/internal/model/plan"
)

func TestPrompt(t *testing.T) {
	t.Parallel()
	t.Run("the system part is the same for all questions about an estate", func(t *testing.T) {
		t.Parallel()
		e := parse(t, greenhouses)
		first := plan.NewPrompt(plan.Ask(plan.New(t.Context(), e), "how many beds are there?"))
		second := plan.NewPrompt(plan.Ask(plan.New(t.Context(), e), "which greenhouses on the coast are humid?"))
		if first.System != second.System {
			t.Errorf("system parts differ:\n%s\n%s", first.System, second.System)
		}
		for _, want := range []string{
			"greenhouses (3 records)", "greenhouses.beds (4 records)", "parent.X is X of greenhouses",
			"climate: text, 2 values such as humid",
		} {
			if !strings.Contains(first.System, want) {
				t.Errorf("%q is missing in\n%s", want, first.System)
			}
		}
		if len(first.Arrays) != 3 {
			t.Errorf("%d arrays, want 3", len(first.Arrays))
		}
	})
	t.Run("the question is in the user part only", func(t *testing.T) {
		t.Parallel()
		p := plan.NewPrompt(ask(t, greenhouses, "how many beds are there?"))
		if strings.Contains(p.System, "how many beds are there?") ||
			!strings.Contains(p.User, "Question: how many beds are there?") {
			t.Errorf("user part %q", p.User)
		}
	})
	t.Run("values of the question are listed as the data spells them", func(t *testing.T) {
		t.Parallel()
		p := plan.NewPrompt(ask(t, servers, "how many DOCKER HOSTS are in eu west 1?"))
		for _, want := range []string{"fleet: runtime = dockerhost", "fleet: zone = eu-west-1"} {
			if !strings.Contains(p.User, want) {
				t.Errorf("%q is missing in %q", want, p.User)
			}
		}
	})
}

// TestPromptBounds checks that a prompt has about 2,000 tokens at most.
func TestPromptBounds(t *testing.T) {
	t.Parallel()
	const maxPrompt = 9000 // bytes: rules, outline, hints and question
	long := "how many things have " + strings.Repeat("field ", 30)
	values := &strings.Builder{}
	for i := range 60 {
		fmt.Fprintf(values, "%s{\"name\":\"n%d\",\"team\":\"%s\",\"tier\":\"%s\"}", strings.Repeat(",", min(i, 1)), i,
			strings.Repeat("é", 20_000/60), strings.Repeat("x", i%3*2000+1))
	}
	for _, row := range []struct{ name, estate, question string }{
		{"10,000 fields in one array", wideEstate(10_000), long},
		{"300 arrays", manyArrays(300), "how many " + noun(150) + "s are on?"},
		{"long values", `{"things":[` + values.String() + `]}`, "how many things are there?"},
		{"names with quotes, backslashes, newlines and 300 bytes", hostileNames(), "how many things are there?"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := plan.NewPrompt(ask(t, row.estate, row.question))
			if got := len(p.System) + len(p.User) - len(row.question); got > maxPrompt {
				t.Errorf("%d bytes, want at most %d", got, maxPrompt)
			}
			if !strings.HasPrefix(p.System, "You plan") || strings.ToValidUTF8(p.System+p.User, "?") != p.System+p.User {
				t.Error("the prompt is no text")
			}
		})
	}
}

func TestReducedOutline(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ question, want string }{
		{"how many " + noun(150) + "s are on?", noun(150)},
		{"which " + noun(7) + "s are off?", noun(7)},
		{"how many " + noun(189) + "s are there per state?", noun(189)},
		{"the average size of the " + noun(60) + "s that are on", noun(60)},
		{"how many tall_" + noun(77) + " are on?", "tall_" + noun(77)}, // the data key itself
	} {
		t.Run(row.question, func(t *testing.T) {
			t.Parallel()
			p := plan.NewPrompt(ask(t, manyArrays(190), row.question))
			if len(p.Arrays) != 2 || p.Arrays[0].Key != row.want && p.Arrays[1].Key != row.want {
				var keys []string
				for _, a := range p.Arrays {
					keys = append(keys, a.Key)
				}
				t.Errorf("arrays %v, want two with %s", keys, row.want)
			}
			if !strings.Contains(p.User, row.want+" (4 records)") {
				t.Errorf("%s is missing in %q", row.want, p.User)
			}
		})
	}
}

func TestOutline(t *testing.T) {
	t.Parallel()
	const limit = 1200
	got := plan.Outline(ask(t, manyArrays(190), "how many "+noun(150)+"s are on?"), limit)
	if !strings.Contains(got, noun(150)+" (4 records)") || !strings.Contains(got, "Further arrays: ") ||
		!strings.HasSuffix(got, " …\n") || len(got) > limit+len(" …\n") {
		t.Errorf("outline of %d bytes:\n%s", len(got), got)
	}
	if got := plan.Outline(ask(t, greenhouses, ""), limit); strings.Contains(got, "Further") {
		t.Errorf("outline of few arrays:\n%s", got)
	}
}

// TestPromptWithoutNames checks that a prompt has no values that name records, unless the question has them.
func TestPromptWithoutNames(t *testing.T) {
	t.Parallel()
	var records []string
	for i := range 30 {
		records = append(records,
			fmt.Sprintf(`{"name":"secret-%02d","serial":"SN%04d","email":"user%d@example.test","state":"%s","twin":"pair%d"}`,
				i, i, i, []string{"on", "off"}[i%2], i/2))
	}
	text := `{"vaults":[` + strings.Join(records, ",") + `]}`
	for _, row := range []struct {
		question string
		want     string // the only names of the prompt
	}{
		{"how many vaults are on?", ""},
		{"is secret-07 on?", "secret-07"},
		{"which vault has serial SN0003?", "SN0003"},
	} {
		t.Run(row.question, func(t *testing.T) {
			t.Parallel()
			p := plan.NewPrompt(ask(t, text, row.question))
			whole := p.System + strings.Replace(p.User, row.question, "", 1)
			for i := range 30 {
				for _, name := range []string{fmt.Sprintf("secret-%02d", i), fmt.Sprintf("SN%04d", i),
					fmt.Sprintf("user%d@example.test", i)} {
					if strings.Contains(whole, name) != (name == row.want) {
						t.Errorf("%s in the prompt is %v, want %v", name, strings.Contains(whole, name), name == row.want)
					}
				}
			}
		})
	}
}
