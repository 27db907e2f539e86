package eval

import (
	"context"
	_ "embed" // the built-in questions
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/deploy/internal/estatefile"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/records"
)

// The built-in questions and their estate.
var (
	//go:embed builtin/questions.jsonl
	builtinQuestions []byte
	//go:embed builtin/estate.json
	builtinEstate string
)

// form is the form of the expected answers of a kind.
type form string

const (
	numberForm form = "a number"
	countsForm form = "an object of numbers"
	namesForm  form = "a name, an array of names, or an object of numbers"
	wordForm   form = `"yes" or "no"`
	nullForm   form = "null"
)

var forms = map[string]form{
	"count": numberForm, "group": numberForm, "absent": numberForm, "distinct": numberForm, "sum": numberForm,
	"average": numberForm, "share": numberForm, "breakdown": countsForm,
	"top": namesForm, "topn": namesForm, "list": namesForm, "compare": namesForm, "fields": namesForm,
	"yesno": wordForm, "nonnull": wordForm, "all": wordForm, "not_in_data": nullForm,
}

// question is a question about an estate with its expected answer.
type question struct {
	ID            string         `json:"id"`
	Type          string         `json:"type"` // nl or empty; rows of other types are skipped
	Kind          string         `json:"kind"`
	Question      string         `json:"question"`
	Estate        string         `json:"estate"` // name of a file without its extension
	Expected      jsontext.Value `json:"expected_answer"`
	ExpectedValue jsontext.Value `json:"expected_value"`
	Tolerance     float64        `json:"tolerance"` // of a number; 0 for a share: 1

	number float64            // Expected in numberForm
	names  []string           // Expected in namesForm or wordForm
	counts map[string]float64 // Expected in countsForm or namesForm, by name
	value  *float64           // ExpectedValue, if it is a number
	source string             // file:line
	text   string             // of the estate
}

func (q *question) form() form { return forms[q.Kind] }

// parse reads a question and its expected answer.
func (q *question) parse(text jsontext.Value) error {
	if err := json.Unmarshal(text, q); err != nil || q.skipped() {
		return err
	}
	switch {
	case q.Question == "":
		return errors.New("question: required")
	case q.form() == "":
		return fmt.Errorf("kind: expected one of %s, got %q", strings.Join(slices.Sorted(maps.Keys(forms)), ", "), q.Kind)
	case q.Tolerance < 0:
		return errors.New("tolerance: expected at least 0")
	case !q.parseExpected():
		return fmt.Errorf("expected_answer: expected %s for the kind %s", q.form(), q.Kind)
	}
	if q.Kind == "share" && q.Tolerance == 0 {
		q.Tolerance = 1
	}
	if q.ExpectedValue.Kind() == jsontext.KindNumber {
		return json.Unmarshal(q.ExpectedValue, &q.value)
	}
	return nil
}

func (q *question) skipped() bool { return q.Type != "" && q.Type != "nl" }

// parseExpected returns false if the expected answer does not have the form of its kind.
func (q *question) parseExpected() bool {
	kind := q.Expected.Kind()
	if missing := kind == jsontext.KindNull || len(q.Expected) == 0; missing || q.form() == nullForm {
		return missing && q.form() == nullForm
	}
	switch {
	case q.form() == numberForm:
		return json.Unmarshal(q.Expected, &q.number) == nil
	case q.form() == countsForm, kind == jsontext.KindBeginObject && q.form() == namesForm:
		return json.Unmarshal(q.Expected, &q.counts) == nil && len(q.counts) > 0
	}
	list := []jsontext.Value{q.Expected}
	if kind == jsontext.KindBeginArray && (json.Unmarshal(q.Expected, &list) != nil || len(list) == 0) {
		return false
	}
	valid := !slices.ContainsFunc(list, func(element jsontext.Value) bool { return !q.addName(element) })
	names := strings.Join(q.names, ",")
	return valid && (q.form() == namesForm || names == "yes" || names == "no")
}

// addName adds a name: a string, a number, or an object with the members value, a name, and count.
func (q *question) addName(v jsontext.Value) bool {
	var element any
	_ = json.Unmarshal(v, &element) // cannot fail: v was unmarshaled from JSON
	switch element := element.(type) {
	case string:
		q.names = append(q.names, element)
		return element != ""
	case float64:
		q.names = append(q.names, string(v))
		return true
	case map[string]any:
		name, hasName := element["value"].(string)
		number, hasNumber := element["count"].(float64)
		if q.counts == nil {
			q.counts = map[string]float64{}
		}
		q.counts[name] = number
		return hasName && hasNumber
	}
	return false
}

// readQuestions returns the questions of a file about the estate in another file or, by their member estate, in a
// directory. Without files, it returns the built-in questions.
func readQuestions(ctx context.Context, file, estate string) (questions []question, err error) {
	data := builtinQuestions
	if file != "" {
		if data, err = os.ReadFile(file); err != nil {
			return nil, err
		}
	}
	for _, line := range records.ReadLines(file, data) {
		q := question{source: line.Source, text: builtinEstate}
		if err = line.Err; err == nil {
			err = q.parse(line.Text)
		}
		if err != nil {
			return nil, flags.Usage(fmt.Errorf("%s: %w", line.Source, err))
		}
		if !q.skipped() {
			questions = append(questions, q)
		}
	}
	if len(questions) == 0 {
		return nil, flags.Usage(fmt.Errorf("%s: contains no questions", file))
	}
	if file == "" {
		return questions, nil
	}
	return questions, readEstates(ctx, estate, questions)
}

// readEstates sets the texts of the estates of the questions.
func readEstates(ctx context.Context, path string, questions []question) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	texts := map[string]string{} // by file
	for i, q := range questions {
		file := path
		if info.IsDir() {
			if q.Estate == "" || filepath.Base(q.Estate) != q.Estate {
				return flags.Usage(fmt.Errorf("%s: estate: expected the name of a file in %s, got %q", q.source, path, q.Estate))
			}
			file = filepath.Join(path, q.Estate+".json")
		}
		if _, ok := texts[file]; !ok {
			text, err := estatefile.Read(ctx, file, nil)
			if info.IsDir() && errors.Is(err, fs.ErrNotExist) {
				text, err = estatefile.Read(ctx, file+".gz", nil)
			}
			if err != nil {
				return fmt.Errorf("%s: estate %s: %w", q.source, file, err)
			}
			texts[file] = string(text)
		}
		questions[i].text = texts[file]
	}
	return nil
}
