package offline_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"cairn/services/internal/estate"
)

// floor is the required number of correct answers in testdata/fresh.jsonl. The questions
// were written before the rules were tried on them, about domains that the rules were not
// made for; the planner refuses the others.
const floor = 221

func TestFreshQuestions(t *testing.T) {
	t.Parallel()
	estates := map[string]*estate.Estate{}
	for _, name := range []string{"library", "fleet", "energy", "festival", "port", "hotel", "insurer"} {
		estates[name] = synthetic(t, "testdata/"+name+".json")
	}
	right, all := 0, 0
	for _, q := range freshQuestions(t) {
		all++
		text, calls := ask(t, estates[q.Estate], append(q.Before, q.Question)...)
		if why := q.grade(withoutCommas(text)); why != "" {
			t.Logf("%s %s (%s): %s\n\twant %s %s\n\tcalls %s\n\tgot %.400s", q.ID, q.Question, q.Kind, why, q.Expected, q.Value, calls, text)
			continue
		}
		right++
	}
	t.Logf("%d of %d", right, all)
	if right < floor {
		t.Errorf("%d of %d correct, want at least %d", right, all, floor)
	}
}

type freshQuestion struct {
	question
	Before []string `json:"before"` // earlier turns
}

func freshQuestions(tb testing.TB) (out []freshQuestion) {
	tb.Helper()
	f, err := os.Open(filepath.Join("testdata", "fresh.jsonl"))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = f.Close() }() // opened for reading
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var q freshQuestion
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			tb.Fatal(err)
		}
		out = append(out, q)
	}
	return out
}

var thousands = regexp.MustCompile(`([0-9]),([0-9]{3})`)

// withoutCommas removes thousands separators.
func withoutCommas(text string) string { return thousands.ReplaceAllString(text, "$1$2") }
