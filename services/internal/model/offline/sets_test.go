package offline_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn/services/internal/estate"
	"cairn/services/internal/markdown"
)

// score counts the answers to a set of questions.
type score struct{ right, wrong, declined int }

// TestQuestionSets answers the sets of testdata/generate.py and, about other domains, of generate_unseen.py, generate_domains.py,
// generate_blind.py, generate_neighbourhood.py and generate_services.py, and two sets of infrastructure. The planner may decline
// questions. The rules were written without blind, neighbourhood, sites, systems and services, and later changed for their wrong answers.
func TestQuestionSets(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		set          string
		right, wrong int // at least, at most
	}{
		{"dev", 67, 0},
		{"heldout", 67, 0},
		{"unseen", 68, 0},
		{"blind", 99, 0},
		{"domains", 209, 0},
		{"neighbourhood", 92, 0},
		{"sites", 273, 0},
		{"systems", 112, 0},
		{"services", 101, 0},
	} {
		t.Run(row.set, func(t *testing.T) {
			t.Parallel()
			got := answerSet(t, readSet(t, filepath.Join("testdata", row.set+".jsonl")))
			t.Logf("%+v", got)
			if got.right < row.right || got.wrong > row.wrong {
				t.Errorf("got %+v, want at least %d right and at most %d wrong", got, row.right, row.wrong)
			}
		})
	}
}

func answerSet(t *testing.T, questions []question) (s score) {
	t.Helper()
	estates := map[string]*estate.Estate{}
	for _, q := range questions {
		if estates[q.Estate] == nil {
			estates[q.Estate] = synthetic(t, "testdata/"+q.Estate+".json")
		}
		text, calls := ask(t, estates[q.Estate], append(q.Before, q.Question)...)
		why := q.grade(withoutCommas(text))
		switch why {
		case "":
			s.right++
			continue
		case declined:
			s.declined++
			checkSuggestions(t, estates[q.Estate], text)
		default:
			s.wrong++
		}
		if os.Getenv("CAIRN_EVAL_QUIET") == "" {
			t.Logf("%s %s (%s): %s\n\twant %s %s\n\tcalls %s\n\tgot %.300s", q.ID, q.Question, q.Kind, why, q.Expected, q.Value, calls, text)
		}
	}
	return s
}

// checkSuggestions asks the questions that a declined one offers.
func checkSuggestions(t *testing.T, e *estate.Estate, text string) {
	t.Helper()
	_, list, ok := strings.Cut(text, "\n\nYou could ask:\n- ")
	for question := range strings.SplitSeq(list, "\n- ") {
		got, _ := ask(t, e, markdown.Plain(question))
		if ok && !strings.Contains(got, "Understood as: ") && !strings.Contains(got, "have the fields") {
			t.Errorf("the suggestion %q has the answer %q", question, got)
		}
	}
}

func readSet(tb testing.TB, path string) (out []question) {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = f.Close() }() // opened for reading
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var q question
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			tb.Fatal(err)
		}
		if q.Type == "" || q.Type == "nl" {
			out = append(out, q)
		}
	}
	return out
}
