// Package model measures the answers of a language model.
package model

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn/test/cairntest"
)

const (
	modelVariable = "CAIRN_TEST_MODEL"     // URL of a model of an Ollama server: http://127.0.0.1:11434/qwen
	dataVariable  = "CAIRN_EVAL"           // folder of the evaluation data
	allVariable   = "CAIRN_TEST_MODEL_ALL" // ask all questions
)

// fewQuestions are asked about one estate.
const fewQuestions = 12

// report is the output of cairn eval answers.
type report struct {
	Asked       int `json:"asked"`
	Right       int `json:"right"`
	Wrong       int `json:"wrong"`
	Declined    int `json:"declined"`
	Errors      int `json:"errors"`
	Called      int `json:"with_tool_call"`
	Unsupported int `json:"with_unsupported_figures"`
	Prompt      int `json:"median_prompt_tokens"`
	Answer      int `json:"median_answer_tokens"`
}

// TestModelAnswers asks a model questions about an export, or about all estates of the evaluation data.
func TestModelAnswers(t *testing.T) {
	url, data := os.Getenv(modelVariable), os.Getenv(dataVariable)
	if url == "" || data == "" {
		t.Skipf("needs %s and %s", modelVariable, dataVariable)
	}
	p := cairntest.Up(t, "--model", "ollama://"+strings.TrimPrefix(url, "http://")+"?num_ctx=8192&first_chunk=115s")
	estates := filepath.Join(data, "estates")
	if os.Getenv(allVariable) != "" {
		ask(t, p, estates, questionsOf(t, estates, "questions-exports.jsonl", 1000), 0.85, 0.03)
		ask(t, p, estates, questionsOf(t, estates, "questions-dev.jsonl", 1000, "small"), 0.85, 0.03)
		ask(t, p, estates, questionsOf(t, estates, "questions-dev.jsonl", 1000, "medium"), 0.65, 0.06)
		return
	}
	questions := questionsOf(t, estates, "questions-exports.jsonl", fewQuestions, "aws-ec2")
	warm := filepath.Join(t.TempDir(), "warm.jsonl") // the model is loaded, and the prompt is read
	text, err := os.ReadFile(questions)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	if err := os.WriteFile(warm, []byte(first+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 3 { // reading the prompt takes longer than the deadline on a busy machine
		if evaluate(t, p, estates, warm).Errors == 0 {
			break
		}
	}
	ask(t, p, estates, questions, 0.75, 0.09)
}

// questionsOf returns a file with the first n questions about the estates; none: all of them.
func questionsOf(t *testing.T, folder, file string, n int, estates ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, file))
	if err != nil {
		t.Fatal(err)
	}
	var kept strings.Builder
	for line := range strings.Lines(string(text)) {
		var row struct{ Type, Estate string }
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		wanted := len(estates) == 0
		for _, e := range estates {
			wanted = wanted || e == row.Estate
		}
		if wanted && row.Type == "nl" && n > 0 {
			kept.WriteString(line)
			n--
		}
	}
	path := filepath.Join(t.TempDir(), "questions.jsonl")
	if err := os.WriteFile(path, []byte(kept.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// evaluate asks the questions and returns the report.
func evaluate(t *testing.T, p *cairntest.Process, estates, questions string) (r report) {
	t.Helper()
	out, err := cairntest.Run(t, []string{"CAIRN_URL=" + p.URL()},
		"eval", "answers", "--questions", questions, "--estate", estates, "-o", "json")
	start := strings.IndexByte(out, '{') // after the progress on stderr
	if err != nil || start < 0 {
		t.Fatalf("cairn eval answers: %v\n%s", err, out)
	}
	t.Log(out[start:])
	if err := json.Unmarshal([]byte(out[start:]), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// ask checks the shares of right and wrong answers, that figures have a source, and the tokens of a question.
func ask(t *testing.T, p *cairntest.Process, estates, questions string, right, wrong float64) {
	t.Helper()
	const maxPrompt, maxAnswer = 1800, 150 // tokens, at the median
	r := evaluate(t, p, estates, questions)
	asked := float64(r.Asked)
	// a busy machine may exceed the deadline of a question
	if float64(r.Right) < right*asked || float64(r.Wrong) > wrong*asked {
		t.Errorf("%d of %d answers are right, %d wrong, %d errors; want at least %.0f %% and at most %.0f %%",
			r.Right, r.Asked, r.Wrong, r.Errors, 100*right, 100*wrong)
	}
	if r.Unsupported > 0 || r.Called < r.Right {
		t.Errorf("%d answers with unsupported figures, %d with a call; want 0, and a call for each right answer",
			r.Unsupported, r.Called)
	}
	if r.Prompt > maxPrompt || r.Answer > maxAnswer {
		t.Errorf("%d tokens of the prompt and %d of the answer at the median; want at most %d and %d", r.Prompt, r.Answer,
			maxPrompt, maxAnswer)
	}
}
