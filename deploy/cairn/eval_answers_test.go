package main

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/deploy/internal/flags"
	"cairn/schemas"
)

// evalAnswersOutput is the JSON that eval answers prints, except for durations.
type evalAnswersOutput struct {
	Questions    int
	Asked        int
	Backends     map[string]string
	Right        int
	Wrong        int
	Declined     int
	Errors       int
	Called       int `json:"with_tool_call"`
	Unsupported  int `json:"with_unsupported_figures"`
	PromptTokens int `json:"median_prompt_tokens"`
	AnswerTokens int `json:"median_answer_tokens"`
	Error        string
	WrongAnswers []map[string]any `json:"wrong_answers"`
}

// answerServer returns the URL of a server with a model, which replies to each analysis with answer.
func answerServer(t *testing.T, answer func(w http.ResponseWriter, a schemas.Analysis)) string {
	t.Helper()
	return serving(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/health" {
			_, _ = io.WriteString(w, `{"status":"ok","services":[{"service":"analyze","backends":{"model":"stub:"}}]}`)
			return
		}
		var a schemas.Analysis
		if err := json.NewDecoder(r.Body).Decode(&a); err != nil {
			t.Error(err)
		}
		answer(w, a)
	})
}

// questionFiles writes questions about one estate.
func questionFiles(t *testing.T) (args []string) {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "questions.jsonl", `
{"id":"q1","type":"nl","estate":"other","kind":"count","question":"right","expected_answer":3}
{"id":"s1","type":"stats"}
{"id":"q2","kind":"top","question":"wrong","expected_answer":"a","expected_value":3}
{"id":"q3","kind":"count","question":"declined","expected_answer":3}

{"id":"q4","kind":"count","question":"failed","expected_answer":3}
{"id":"q5","kind":"count","question":"rejected","expected_answer":3}
`)
	write(t, dir, "estate.json", `{"hosts":[]}`)
	questions, estate := filepath.Join(dir, "questions.jsonl"), filepath.Join(dir, "estate.json")
	return []string{"eval", "answers", "--questions", questions, "--estate", estate}
}

// usage returns an event with numbers of tokens.
func usage(prompt, answer int) string {
	return fmt.Sprintf("event: usage\ndata: {\"prompt_tokens\":%d,\"answer_tokens\":%d}\n\n", prompt, answer)
}

func TestEvalAnswers(t *testing.T) {
	t.Parallel()
	asked := 0
	url := answerServer(t, func(w http.ResponseWriter, a schemas.Analysis) {
		asked++
		if a.Context != `{"hosts":[]}` || a.Target != schemas.TargetH || len(a.Include) != 2 {
			t.Errorf("%+v", a)
		}
		switch a.Query {
		case "right":
			_, _ = io.WriteString(w, answered+checked+usage(100, 10)+done)
		case "wrong":
			_, _ = io.WriteString(w, "event: direct_response\ndata: {\"text\":\"b: 3\\nc: 2\"}\n\n"+usage(300, 30)+done)
		case "declined":
			_, _ = io.WriteString(w, "event: text_delta\ndata: {\"text\":\"This cannot be answered.\"}\n\n"+usage(200, 20)+done)
		case "failed":
			_, _ = io.WriteString(w, "event: error\ndata: {\"code\":\"AN-500\",\"message\":\"the model is gone\"}\n\n"+done)
		default:
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, failed("overheated"))
		}
	})
	args := append(questionFiles(t), "--url", url)
	got := do(t, "", append(args, "-o", "json")...)
	var result evalAnswersOutput
	if err := json.Unmarshal([]byte(got.out), &result); err != nil || got.code != 0 || got.err != "" {
		t.Fatalf("%v, %+v", err, got)
	}
	want := evalAnswersOutput{
		Questions: 5, Asked: 5, Backends: map[string]string{"model": "stub:"}, Right: 1, Wrong: 1, Declined: 1, Errors: 2,
		Called: 1, Unsupported: 1, PromptTokens: 200, AnswerTokens: 20, Error: "AN-500 the model is gone",
		WrongAnswers: []map[string]any{{
			"id": "q2", "kind": "top", "question": "wrong", "expected_answer": "a", "expected_value": 3., "answer": "b: 3\nc: 2",
		}},
	}
	if diff := cmp.Diff(want, result); diff != "" || asked != 5 {
		t.Errorf("asked %d questions; (-want +got):\n%s", asked, diff)
	}
	text := do(t, "", args...)
	const table = `asked 5 of 5 questions
model stub:

right                     1  20 %
wrong                     1  20 %
declined                  1  20 %
errors                    2  40 %
with a tool call          1  20 %
with unsupported figures  1  20 %

prompt tokens  200  median
answer tokens  20   median
seconds        0.0  median
               0.0  slowest

first error: AN-500 the model is gone

q2: wrong answer, kind top
  question  wrong
  expected  "a", 3
  answer    b: 3
  answer    c: 2
`
	if diff := cmp.Diff(loose(table), loose(text.out)); text.code != 0 || diff != "" {
		t.Errorf("exit %d (-want +got):\n%s", text.code, diff)
	}
}

// TestEvalAnswersEstates checks that each question is asked about its estate in a directory.
func TestEvalAnswersEstates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "plain.json", `"plain"`)
	var compressed strings.Builder
	z := gzip.NewWriter(&compressed)
	_, _ = io.WriteString(z, `"compressed"`)
	_ = z.Close() // a builder write cannot fail
	write(t, dir, "small.json.gz", compressed.String())
	const row = `{"estate":%q,"kind":"count","question":"q","expected_answer":3}` + "\n"
	write(t, dir, "questions.jsonl", fmt.Sprintf(row+row, "plain", "small"))
	var estates []string
	url := answerServer(t, func(w http.ResponseWriter, a schemas.Analysis) {
		estates = append(estates, a.Context) // requests are sequential
		_, _ = io.WriteString(w, answered+done)
	})
	questions := filepath.Join(dir, "questions.jsonl")
	args := []string{"eval", "answers", "--url", url, "--questions", questions, "--estate", dir}
	got := do(t, "", args...)
	if diff := cmp.Diff([]string{`"plain"`, `"compressed"`}, estates); got.code != 0 || diff != "" {
		t.Errorf("%+v (-want +got):\n%s", got, diff)
	}
	for name, want := range map[string]string{
		"../plain": `questions.jsonl:1: estate: expected the name of a file in ` + dir + `, got "../plain"`,
		"":         "expected the name of a file",
		"absent":   filepath.Join(dir, "absent.json.gz: no such file"),
	} {
		write(t, dir, "questions.jsonl", fmt.Sprintf(row, name))
		if got := do(t, "", args...); got.code != exitUsage || !strings.Contains(got.err, want) {
			t.Errorf("estate %q: %+v, want %q", name, got, want)
		}
	}
}

func TestEvalAnswersFailures(t *testing.T) {
	t.Parallel()
	args := questionFiles(t)
	rejecting := answering(t, http.StatusUnauthorized, `{"code":"AN-401","status":401,"title":"unauthenticated"}`)
	lost := 0
	losing := answerServer(t, func(w http.ResponseWriter, _ schemas.Analysis) {
		if lost++; lost > 1 {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, answered+done)
	})
	for _, row := range []struct {
		name    string
		args    []string
		code    int
		out     string
		message string
	}{
		{"one file", args[:4], exitUsage, "", "--questions and --estate: expected both or none"},
		{"an argument", append(args[:2:2], "x"), exitUsage, "", "expected no arguments"},
		{"an absent file", append(args[:3:3], "/none/q", "--estate", "/"), exitUsage, "", "/none/q: no such file"},
		{"no Cairn", append(args, "--url", "http://127.0.0.1:1"), exitUnavailable, "", "cannot connect to Cairn"},
		{"no credential", append(args, "--url", rejecting), exitRejected, "errors                    5  100 %", "AN-401"},
		{"a lost connection", append(args, "--url", losing), exitUnavailable, "asked 1 of 5 questions", "request to http"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := do(t, "", row.args...)
			if got.code != row.code || !strings.Contains(got.out, row.out) || (row.out == "") != (got.out == "") ||
				!strings.Contains(got.err, row.message) {
				t.Errorf("%+v; want exit %d, %q and %q", got, row.code, row.out, row.message)
			}
		})
	}
}

// TestEvalAnswersInterrupted checks that an interrupt does not cancel the current question.
func TestEvalAnswersInterrupted(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	url := answerServer(t, func(w http.ResponseWriter, a schemas.Analysis) {
		if a.Query == "wrong" {
			interrupt()
		}
		_, _ = io.WriteString(w, answered+done)
	})
	got := doIn(ctx, map[string]string{flags.ContextsVariable: noContexts}, "", append(questionFiles(t), "--url", url)...)
	if got.code != exitInterrupted || got.err != "" || !strings.HasPrefix(got.out, "asked 2 of 5 questions\n") {
		t.Errorf("%+v; want exit %d", got, exitInterrupted)
	}
}

// TestEvalAnswersBuiltin computes the expected answers of the built-in questions, and asks the offline model.
func TestEvalAnswersBuiltin(t *testing.T) {
	t.Parallel()
	const estate = "../internal/eval/builtin/estate.json"
	url := shared(t)
	queries := map[string]struct {
		input string // of compute_stats
		value func(computedStats) any
	}{
		"b01": {`{"data_key":"laptops","filter":{"memory_gb":32}}`, total},
		"b02": {`{"data_key":"laptops","filter":{"vendor":"Dell","office":"Leeds"}}`, total},
		"b03": {`{"data_key":"laptops","group_by":"office"}`, breakdown},
		"b04": {`{"data_key":"laptops","group_by":"vendor"}`, largest},
		"b05": {`{"data_key":"offices","top":{"by":"area_m2"}}`, firstName},
		"b06": {`{"data_key":"laptops","filter":{"disk.encrypted":false},"names":{"limit":20,"field":"name"}}`, allNames},
		"b07": {`{"data_key":"laptops","filter":{"office":"Graz"},"metrics":["sum:price_eur"]}`, total},
		"b08": {`{"data_key":"laptops","filter":{"vendor":"Lenovo"},"metrics":["avg:price_eur"]}`, total},
		"b09": {`{"data_key":"laptops","filter":{"disk.encrypted":true},"share":{"of":{}}}`, percent},
		"b10": {`{"data_key":"offices","filter":{"parking":false}}`, isPositive},
		"b11": {`{"data_key":"laptops","filter":{"disk.encrypted":false,"office":"Tampere"}}`, isZero},
		"b12": {`{"data_key":"laptops","metrics":["distinct:vendor"]}`, total},
		"b13": {`{"data_key":"laptops","filter":{"owner":{"exists":false}}}`, total},
		"b14": {`{"data_key":"laptops","filter":{"purchased":{"gte":"2023-01-01","lt":"2024-01-01"}}}`, total},
		"b15": {`{"data_key":"laptops","filter":{"purchased":{"lt":"2020-01-01"}}}`, total},
		"b16": {`{"data_key":"laptops.tickets","filter":{"state":"open"}}`, total},
		"b17": {`{"data_key":"laptops.tickets","group_by":"priority"}`, breakdown},
		"b18": {`{"data_key":"laptops","filter":{"software":{"contains":"Figma"}}}`, total},
	}
	text, err := os.ReadFile("../internal/eval/builtin/questions.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for d := json.NewDecoder(strings.NewReader(string(text))); d.More(); asked++ {
		var q struct {
			ID, Kind  string
			Expected  any `json:"expected_answer"`
			Value     any `json:"expected_value"`
			Tolerance float64
		}
		if err := d.Decode(&q); err != nil {
			t.Fatal(err)
		}
		query, ok := queries[q.ID]
		if !ok {
			if q.Kind != "not_in_data" || q.Expected != nil {
				t.Errorf("no query for %s", q.ID)
			}
			continue
		}
		got := do(t, "", "compute", "--url", url, "--estate", estate, "--input", query.input, "-o", "json")
		var stats computedStats
		if err := json.Unmarshal([]byte(got.out), &stats); err != nil {
			t.Fatalf("%s: %v, %+v", q.ID, err, got)
		}
		want := q.Expected
		if q.Value != nil {
			want = []any{q.Expected, q.Value}
		}
		computed := query.value(stats)
		if number, ok := want.(float64); ok && q.Tolerance > 0 {
			if value, ok := computed.(float64); ok && value > number-q.Tolerance && value < number+q.Tolerance {
				continue
			}
		}
		if diff := cmp.Diff(want, computed); diff != "" {
			t.Errorf("%s (-want +got):\n%s", q.ID, diff)
		}
	}
	if asked != 20 {
		t.Errorf("%d questions, want 20", asked)
	}
	got := do(t, "", "eval", "answers", "--url", url)
	if got.code != 0 || !strings.HasPrefix(got.out, "asked 20 of 20 questions\nmodel offline:\n") ||
		!strings.Contains(got.out, "errors                    0") {
		t.Errorf("%+v", got)
	}
}

// computedStats is the result of compute_stats.
type computedStats struct {
	Total  float64
	Groups map[string]any
	Names  []struct{ Name string }
	Share  struct{ Percent float64 }
}

func total(s computedStats) any     { return s.Total }
func breakdown(s computedStats) any { return s.Groups }
func percent(s computedStats) any   { return s.Share.Percent }
func firstName(s computedStats) any { return s.Names[0].Name }

func allNames(s computedStats) any {
	var names []any
	for _, n := range s.Names {
		names = append(names, n.Name)
	}
	return names
}

func largest(s computedStats) any {
	name := ""
	for group, count := range s.Groups {
		if name == "" || count.(float64) > s.Groups[name].(float64) {
			name = group
		}
	}
	return []any{name, s.Groups[name]}
}

func isPositive(s computedStats) any { return yesOrNo(s.Total > 0) }
func isZero(s computedStats) any     { return yesOrNo(s.Total == 0) }

func yesOrNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
