package offline_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cairn/services/internal/embed/static"
	"cairn/services/internal/estate"
	"cairn/services/internal/model"
	"cairn/services/internal/model/offline"
)

// question is a row of questions-dev.jsonl.
type question struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	Estate    string          `json:"estate"`
	Question  string          `json:"question"`
	Kind      string          `json:"kind"`
	Expected  json.RawMessage `json:"expected_answer"`
	Value     json.RawMessage `json:"expected_value"`
	Tolerance float64         `json:"tolerance"`
	Before    []string        `json:"before"` // earlier turns
}

// declined is the grade of a question that the planner does not answer.
const declined = "declined"

// minimum is the required share of correct answers.
const minimum = 0.9

func TestEvaluation(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("CAIRN_EVAL")
	if dir == "" {
		t.Skip("needs CAIRN_EVAL, the directory of the evaluation data")
	}
	estates := map[string]*estate.Estate{}
	right, all := map[string]int{}, map[string]int{}
	for _, q := range readQuestions(t, dir) {
		e := estates[q.Estate]
		if e == nil {
			e = readEstate(t, dir, q.Estate)
			estates[q.Estate] = e
		}
		text, calls := ask(t, e, q.Question)
		all[q.Kind]++
		all[""]++
		if why := q.grade(text); why != "" {
			t.Logf("%s %s (%s): %s\n\twant %s %s\n\tcalls %s\n\tgot %.400s", q.ID, q.Question, q.Kind, why, q.Expected, q.Value, calls, text)
			continue
		}
		right[q.Kind]++
		right[""]++
		if testing.Verbose() && os.Getenv("CAIRN_EVAL_ALL") != "" {
			t.Logf("right: %s %s\n\tcalls %s\n\tgot %.300s", q.ID, q.Question, calls, text)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(all)) {
		t.Logf("%-12s %d of %d", kind, right[kind], all[kind])
	}
	if got := float64(right[""]) / float64(all[""]); got < minimum {
		t.Errorf("right: %.2f, want at least %.2f", got, minimum)
	}
}

// TestKnownQuestions asks questions about the estates of the evaluation data that have been answered wrongly. The planner
// may decline one of them.
func TestKnownQuestions(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("CAIRN_EVAL")
	if dir == "" {
		t.Skip("needs CAIRN_EVAL, the directory of the evaluation data")
	}
	refused := 0
	estates := map[string]*estate.Estate{}
	for _, q := range readSet(t, "testdata/known.jsonl") {
		if estates[q.Estate] == nil {
			estates[q.Estate] = readEstate(t, dir, q.Estate)
		}
		text, calls := ask(t, estates[q.Estate], q.Question)
		switch why := q.grade(text); why {
		case "":
		case declined:
			refused++
		default:
			t.Errorf("%s: %s\n\tcalls %s\n\tgot %.300s", q.Question, why, calls, text)
		}
	}
	if refused > 1 {
		t.Errorf("%d questions were declined, want 1", refused)
	}
}

func readQuestions(t *testing.T, dir string) []question {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "estates", "questions-dev.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // opened for reading
	var out []question
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var q question
		if json.Unmarshal(lines.Bytes(), &q) == nil && q.Type == "nl" {
			out = append(out, q)
		}
	}
	return out
}

func readEstate(tb testing.TB, dir, name string) *estate.Estate {
	tb.Helper()
	path := filepath.Join(dir, "estates", name+".json")
	text, err := os.ReadFile(path)
	if err != nil {
		text = gunzip(tb, path+".gz")
	}
	e, err := estate.Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

func gunzip(tb testing.TB, path string) []byte {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = f.Close() }() // opened for reading
	z, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// ask runs the planner with the tools until it answers, like the service. Earlier
// questions are previous turns.
func ask(tb testing.TB, e *estate.Estate, questions ...string) (text, calls string) {
	tb.Helper()
	c := model.Conversation{Estate: e, State: new(any)}
	for _, q := range questions {
		c.Messages = append(c.Messages, model.Message{Role: model.User, Text: q})
		for range 30 {
			var call *model.Call
			text, call = next(tb, c)
			if call == nil {
				break
			}
			calls += call.Name + string(call.Input) + " "
			c.Messages = append(c.Messages,
				model.Message{Role: model.Assistant, Calls: []model.Call{*call}},
				model.Message{Role: model.ToolRole, CallID: call.ID, Tool: call.Name, Result: run(tb, e, *call)})
		}
		c.Messages = append(c.Messages, model.Message{Role: model.Assistant, Text: text})
	}
	return text, calls
}

func next(tb testing.TB, c model.Conversation) (text string, call *model.Call) {
	tb.Helper()
	table, err := static.BuiltIn()
	if err != nil {
		tb.Fatal(err)
	}
	return nextOf(tb, offline.New(table.EmbedAll), c)
}

func nextOf(tb testing.TB, m model.Model, c model.Conversation) (text string, call *model.Call) {
	tb.Helper()
	for part, err := range m.Next(context.Background(), c) {
		if err != nil {
			tb.Fatal(err)
		}
		text += part.Text
		if part.Call != nil {
			call = part.Call
		}
	}
	return text, call
}

func run(tb testing.TB, e *estate.Estate, call model.Call) json.RawMessage {
	tb.Helper()
	var q struct {
		DataKey string          `json:"data_key"`
		GroupBy string          `json:"group_by"`
		Filter  estate.Filter   `json:"filter"`
		AnyOf   []estate.Filter `json:"any_of"`
		Metrics []string        `json:"metrics"`
	}
	if err := json.Unmarshal(call.Input, &q); err != nil {
		tb.Fatal(err)
	}
	var result any
	var err error
	if call.Name == "inspect_schema" {
		result, err = e.Inspect(tb.Context(), q.DataKey)
	} else {
		result, err = e.Stats(tb.Context(),
			estate.Query{DataKey: q.DataKey, GroupBy: estate.GroupBy{q.GroupBy}.Named(), Filter: q.Filter, AnyOf: q.AnyOf, Metrics: q.Metrics})
	}
	if err != nil {
		result = map[string]string{"error": err.Error()}
	}
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(result); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

var figures = regexp.MustCompile(`[0-9]+(\.[0-9]+)?`)

// identifiers are words of letters and digits, which are not figures.
var identifiers = regexp.MustCompile(`\b\pL+[-\pL]*[0-9][-\pL0-9]*\b`)

// grade returns the error in an answer, or "".
func (q question) grade(text string) string {
	text, _, planned := strings.Cut(text, "\n\nUnderstood as: ")
	refused := !planned && !strings.Contains(text, " have the fields ")
	if q.Kind == "not_in_data" {
		if !refused || figures.MatchString(strings.SplitN(text, "You could ask", 2)[0]) {
			return "not said that the data does not hold it"
		}
		return ""
	}
	if refused {
		return declined
	}
	switch q.Kind {
	case "count", "group", "absent", "distinct":
		return q.gradeNumber(text, q.Expected, 0)
	case "share", "number":
		return q.gradeNumber(text, q.Expected, q.Tolerance)
	case "yesno", "nonnull", "all":
		if !strings.HasPrefix(strings.ToLower(text), strings.Trim(string(q.Expected), `"`)) {
			return "wrong word"
		}
		return q.gradeNumber(text, q.Value, 0)
	case "breakdown":
		return q.gradePairs(text)
	case "topn":
		return q.gradeRanks(text)
	case "compare":
		return q.gradeCompare(text)
	}
	return q.gradeLabels(text)
}

func (q question) gradeNumber(text string, want json.RawMessage, tolerance float64) string {
	var w float64
	if err := json.Unmarshal(want, &w); err != nil {
		return ""
	}
	first, err := strconv.ParseFloat(figures.FindString(identifiers.ReplaceAllString(text, "")), 64)
	if err != nil || first < w-tolerance || first > w+tolerance {
		return "wrong number"
	}
	return ""
}

func (q question) gradePairs(text string) string {
	var want map[string]float64
	if err := json.Unmarshal(q.Expected, &want); err != nil {
		return err.Error()
	}
	if n := strings.Count(text, "\n- "); n != len(want) {
		return fmt.Sprintf("%d pairs, want %d", n, len(want))
	}
	for label, n := range want {
		if !strings.Contains(text+"\n", fmt.Sprintf("- %s: %v\n", label, n)) {
			return "no " + label
		}
	}
	return ""
}

func (q question) gradeRanks(text string) string {
	var want []struct {
		Value string
		Count float64
	}
	if err := json.Unmarshal(q.Expected, &want); err != nil {
		return err.Error()
	}
	for i, w := range want {
		if !strings.Contains(text+"\n", fmt.Sprintf("%d. %s: %v\n", i+1, w.Value, w.Count)) {
			return "no " + w.Value
		}
	}
	if strings.Contains(text, fmt.Sprintf("\n%d. ", len(want)+1)) {
		return "too many"
	}
	return ""
}

func (q question) gradeCompare(text string) string {
	if !strings.HasPrefix(text, strings.Trim(string(q.Expected), `"`)) {
		return "wrong one"
	}
	var want map[string]float64
	if json.Unmarshal(q.Value, &want) == nil {
		for _, n := range want {
			if !slices.Contains(figures.FindAllString(text, -1), strconv.FormatFloat(n, 'f', -1, 64)) {
				return fmt.Sprint("no ", n)
			}
		}
	}
	return ""
}

// gradeLabels checks that the answer has all values and, for a list, their number.
func (q question) gradeLabels(text string) string {
	var want []string
	if json.Unmarshal(q.Expected, &want) != nil {
		var one string
		if err := json.Unmarshal(q.Expected, &one); err != nil {
			return err.Error()
		}
		want = []string{one}
	}
	for _, w := range want {
		if !strings.Contains(text, w) {
			return "no " + w
		}
	}
	var n float64
	if q.Kind == "top" && json.Unmarshal(q.Value, &n) == nil {
		if !strings.HasPrefix(text, want[0]) && !strings.HasPrefix(text, want[len(want)-1]) {
			return "the answer does not come first"
		}
		if !slices.Contains(figures.FindAllString(text, -1), strconv.FormatFloat(n, 'f', -1, 64)) {
			return "wrong count"
		}
	}
	if lines := max(strings.Count(text, "\n- "), 1+strings.Count(text, ", ")); q.Kind == "list" && lines != len(want) {
		return fmt.Sprintf("%d values, want %d", lines, len(want))
	}
	return ""
}
