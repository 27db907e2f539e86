package eval

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// parsed returns the question in JSON without its text.
func parsed(t *testing.T, members string) (q question) {
	t.Helper()
	if err := q.parse([]byte(`{"question":"q",` + members + `}`)); err != nil {
		t.Fatalf("%s: %v", members, err)
	}
	return q
}

func TestJudge(t *testing.T) {
	t.Parallel()
	const (
		count     = `"kind":"count","expected_answer":1204`
		zero      = `"kind":"count","expected_answer":0`
		share     = `"kind":"share","expected_answer":80.9`
		average   = `"kind":"average","expected_answer":1241.43,"tolerance":0.5`
		breakdown = `"kind":"breakdown","expected_answer":{"eu-west":3,"eu_south":0}`
		top       = `"kind":"top","expected_answer":"Dell","expected_value":8`
		tie       = `"kind":"top","expected_answer":["Dell","Acer"],"expected_value":8`
		topn      = `"kind":"topn","expected_answer":[{"value":"Dell","count":8},{"value":"Acer","count":7}]`
		list      = `"kind":"list","expected_answer":["otter","lynx"]`
		sizes     = `"kind":"list","expected_answer":[16,32]`
		compare   = `"kind":"compare","expected_answer":"Dell","expected_value":{"Dell":8,"Acer":7}`
		fields    = `"kind":"fields","expected_answer":["name","owner","price","disk","office"]`
		yes       = `"kind":"yesno","expected_answer":"yes","expected_value":2`
		all       = `"kind":"all","expected_answer":"no"`
		nonnull   = `"kind":"nonnull","expected_answer":"no","expected_value":0`
		absent    = `"kind":"not_in_data","expected_answer":null`
		sorry     = "This cannot be answered: the data does not contain it."
	)
	for _, row := range []struct {
		name, question, answer string
		want                   judgement
	}{
		{"a number", count, "There are **1204** hosts.", right},
		{"a number with a separator", count, "1,204 hosts", right},
		{"a number with a space", count, "1 204 hosts", right},
		{"a number with decimals", count, "1204.0", right},
		{"another number", count, "There are 1205 hosts.", wrong},
		{"a part of a number", count, "11204 hosts, 1204.5 of them", wrong},
		{"a number in a name", count, "host1204 and v2.1204", wrong},
		{"a number in words", `"kind":"distinct","expected_answer":4`, "There are Four vendors.", right},
		{"a negative number", `"kind":"sum","expected_answer":-4`, "The sum is -4.", right},
		{"no answer", count, "", wrong},
		{"a declined question", count, sorry, declined},
		{"a declined question with the number", count, "1204; the rest cannot be answered.", right},
		{"none", zero, "There are no such hosts.", right},
		{"none in a contraction", zero, "There aren’t any.", right},
		{"0", zero, "0 hosts", right},
		{"not none", zero, "10 hosts", wrong},
		{"a share within the default tolerance", share, "about 81 %", right},
		{"a share", share, "17 of 21 (79.8%)", wrong},
		{"an average within its tolerance", average, "EUR 1 241.1 on average", right},
		{"an average", average, "1240", wrong},
		{"a breakdown", breakdown, "- eu-west: 3\n- eu\\_south: 0", right},
		{"a breakdown with numbers first", breakdown, "3 in eu-west; none in eu_south", right},
		{"a table", breakdown, "| eu-west | 3 |\n| eu_south | 0 |", right},
		{"an incomplete breakdown", breakdown, "eu-west: 3", wrong},
		{"a breakdown of longer names", breakdown, "eu-west-1: 3\neu_south: 0", wrong},
		{"exchanged numbers", breakdown, "eu-west: 0\neu_south: 3", wrong},
		{"a number that is not near", breakdown, "eu-west, the largest region of all regions, has 3; eu_south: 0", wrong},
		{"a name with its number", top, "dell has the most: 8", right},
		{"a name without its number", top, "Dell", wrong},
		{"another name", top, "Acer: 8", wrong},
		{"all names of a tie", tie, "Dell and Acer, 8 each", right},
		{"one name of a tie", tie, "Dell: 8", wrong},
		{"names with numbers", topn, "1. Dell: 8\n2. Acer: 7", right},
		{"names with wrong numbers", topn, "Dell: 8\nAcer: 6", wrong},
		{"names", list, "lynx, otter", right},
		{"a missing name", list, "lynx", wrong},
		{"numbers as names", sizes, "16 and 32 GB", right},
		{"other numbers", sizes, "16 and 320 GB", wrong},
		{"the larger one", compare, "Dell has more.", right},
		{"the smaller one", compare, "Acer has more.", wrong},
		{"most fields", fields, "name, owner and price", right},
		{"few fields", fields, "name and owner", wrong},
		{"yes", yes, "Yes, 2 of 5.", right},
		{"yes without the number", yes, "Yes.", wrong},
		{"no in place of yes", yes, "No, 2 of 5 have it.", wrong},
		{"a number in place of yes", yes, "2 offices: Graz and Bergen", right},
		{"not all", all, "Not all: 17 of 21.", right},
		{"all", all, "Yes, all of them.", wrong},
		{"neither yes nor no", all, "Perhaps.", wrong},
		{"no value", nonnull, "None has it.", right},
		{"an unanswerable question", absent, sorry, right},
		{"alternatives in place of an answer", absent, "You could ask: how many laptops?", right},
		{"an invented answer", absent, "The average is 7 hours.", wrong},
	} {
		if got := judge(parsed(t, row.question), row.answer); got != row.want {
			t.Errorf("%s: %q is %d, want %d", row.name, row.answer, got, row.want)
		}
	}
}

func TestQuestionErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, estate := filepath.Join(dir, "q.jsonl"), filepath.Join(dir, "estate.json")
	valid := `{"question":"q","kind":"count","expected_answer":1}`
	for _, row := range []struct{ name, questions, estate, want string }{
		{"valid", valid + "\n\n" + `{"type":"stats","id":"s1"}`, "{}", ""},
		{"malformed", valid + "\n{", "{}", "q.jsonl:2: invalid JSON"},
		{"another type of a member", `{"question":1}`, "{}", "q.jsonl:1: "},
		{"no question", `{"kind":"count"}`, "{}", "q.jsonl:1: question: required"},
		{"an unknown kind", `{"question":"q","kind":"x"}`, "{}", `q.jsonl:1: kind: expected one of absent, all, `},
		{"no number", `{"question":"q","kind":"count"}`, "{}", "q.jsonl:1: expected_answer: expected a number for"},
		{"null", `{"question":"q","kind":"count","expected_answer":null}`, "{}", "expected a number"},
		{"text", `{"question":"q","kind":"share","expected_answer":"1"}`, "{}", "expected a number"},
		{"no breakdown", `{"question":"q","kind":"breakdown","expected_answer":{}}`, "{}", "expected an object of numbers"},
		{"no names", `{"question":"q","kind":"list","expected_answer":[]}`, "{}", "expected a name, an array"},
		{"an empty name", `{"question":"q","kind":"list","expected_answer":["a",""]}`, "{}", "expected a name, an array"},
		{"nested names", `{"question":"q","kind":"list","expected_answer":[["a"]]}`, "{}", "expected a name, an array"},
		{"no count", `{"question":"q","kind":"topn","expected_answer":[{"value":"a"}]}`, "{}", "expected a name"},
		{"perhaps", `{"question":"q","kind":"yesno","expected_answer":"perhaps"}`, "{}", `expected "yes" or "no"`},
		{"an object", `{"question":"q","kind":"yesno","expected_answer":{"value":"yes","count":1}}`, "{}", `expected "yes"`},
		{"an answer", `{"question":"q","kind":"not_in_data","expected_answer":1}`, "{}", "expected null"},
		{"a tolerance", `{"question":"q","kind":"sum","expected_answer":1,"tolerance":-1}`, "{}", "tolerance: expected"},
		{"skipped rows only", `{"type":"stats"}`, "{}", "q.jsonl: contains no questions"},
		{"an empty estate", valid, "", "estate.json: empty; expected JSON"},
	} {
		if err := os.WriteFile(file, []byte(row.questions), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(estate, []byte(row.estate), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := readQuestions(t.Context(), file, estate)
		if err == nil && row.want != "" || err != nil && (row.want == "" || !strings.Contains(err.Error(), row.want)) {
			t.Errorf("%s: got %v, want %q", row.name, err, row.want)
		}
	}
}
