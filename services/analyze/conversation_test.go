package analyze_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/services/internal/model/modeltest"
	"cairn/services/internal/model/offline"
)

var update = flag.Bool("update", false, "write the prompts that are compared")

// What a model is told at first, whole, is in testdata.
func TestPrompts(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{schemas.ModeStandard, schemas.ModeBroad} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			conn := bustest.Open(t)
			m, server := scripted(t, modeltest.Say("Three."))
			serve(t, conn, m, "")
			a := ask("how many pumps?")
			a.Mode = mode
			if _, err := stream(t.Context(), conn, a); err != nil {
				t.Fatal(err)
			}
			got := server.Requests()[0].Messages[0].Content
			golden := filepath.Join("testdata", mode+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("the prompt (-want +got):\n%s", diff)
			}
		})
	}
}

// Of a history that does not fit, the newest messages are told, and that others
// are left out.
func TestHistoryIsCutToTheWindow(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	m, server := narrow(t, 4096, modeltest.Say("Three."))
	serve(t, conn, m, "")
	a := ask("how many pumps?")
	a.Prompt = &schemas.Prompt{M: map[string]schemas.Utterance{}}
	for i := range 200 {
		a.Prompt.M[strconv.Itoa(i)] = schemas.Utterance{R: i % 2, C: fmt.Sprintf("message %d %s", i, strings.Repeat("x", 100))}
	}
	if _, err := stream(t.Context(), conn, a); err != nil {
		t.Fatal(err)
	}
	messages := server.Requests()[0].Messages
	if got := messages[1].Content; got != "(Earlier messages are left out.)" {
		t.Errorf("the history begins with %q", got)
	}
	told := messages[2 : len(messages)-1]
	for i, said := range told {
		if want := fmt.Sprintf("message %d ", 200-len(told)+i); !strings.HasPrefix(said.Content, want) {
			t.Fatalf("message %d of the history is %q, want %q", i, said.Content, want)
		}
	}
	size := 0
	for _, said := range messages {
		size += len(said.Content)
	}
	if size > 4096*3/2 || len(told) < 5 {
		t.Errorf("%d messages with %d bytes in all, want more than a few in half of the window", len(told), size)
	}
}

// A result that a small window has no room for is left with the largest groups.
func TestResultsAreCutToTheWindow(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	group := modeltest.Use("compute_stats", `{"data_key":"pumps","group_by":"id","metrics":["count","max:n"]}`)
	m, _ := narrow(t, 4096, group, group, group, modeltest.Say("Many."))
	serve(t, conn, m, "")
	a := ask("how many pumps by id?")
	var records []string
	for i := range 900 {
		records = append(records, fmt.Sprintf(`{"id":"pump-%03d","n":%d}`, i, i))
	}
	a.Context = `{"pumps":[` + strings.Join(append(records, records[7]), ",") + `]}`
	got, err := stream(t.Context(), conn, a)
	if err != nil || !strings.HasSuffix(got, "text_delta {\"text\":\"Many.\"}\ndone {}") {
		t.Fatalf("got\n%.2000s\n%v", got, err)
	}
	told := 0
	for line := range strings.Lines(got) {
		result, ok := strings.CutPrefix(line, "tool_result ")
		if !ok {
			continue
		}
		told += len(result)
		if !strings.Contains(result, `"groups":{"pump-007":2,`) || !strings.Contains(result, `"truncated":true`) || !strings.Contains(result, `"group_count":900`) {
			t.Errorf("the result is %.300s, want the largest group, and marked that others are missing", result)
		}
	}
	if told > 4096*3 {
		t.Errorf("the results have %d bytes, more than the window", told)
	}
}

func TestCallsOfOneMessageAreAnsweredInTheirOrder(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	both := modeltest.Turn{}
	var want []string
	for i := range 5 {
		id := strconv.Itoa(i)
		both.Calls = append(both.Calls, modeltest.Call{ID: id, Name: "inspect_schema", Input: `{"data_key":"site.pumps"}`})
		want = append(want, `tool_use {"tool_call_id":"`+id+`"`, `tool_result {"tool_call_id":"`+id+`"`)
	}
	m, server := scripted(t, both, modeltest.Say("Three."))
	serve(t, conn, m, "")
	got, err := stream(t.Context(), conn, ask("how many pumps?"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(got, "\n")
	for i, w := range want {
		if !strings.HasPrefix(lines[i], w) {
			t.Errorf("event %d is %s, want %s", i, lines[i], w)
		}
	}
	if got := len(server.Requests()[1].Messages); got != 2+1+5 {
		t.Errorf("the model is told %d messages, want its own and 5 results after the question", got)
	}
}

func TestThoughtsAreNotSaid(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		pieces []string
		want   string
	}{
		{"in one piece", []string{"<think>7?</think>Three."}, "Three."},
		{"in many pieces", []string{"<th", "ink>7", "? </th", "ink", ">Th", "ree."}, "Three."},
		{"twice", []string{"<think>7?</think>Three", "<think>!</think>."}, "Three."},
		{"no thought", []string{"a <", " b <t", "h> c"}, "a < b <th> c"},
		{"a mark that is left open at the end", []string{"Three <thi"}, "Three <thi"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			conn := bustest.Open(t)
			m, _ := scripted(t, modeltest.Say(row.pieces...))
			serve(t, conn, m, "")
			got, err := stream(t.Context(), conn, ask("how many pumps?"))
			if err != nil {
				t.Fatal(err)
			}
			if said := textOf(t, got); said != row.want {
				t.Errorf("got %q, want %q", said, row.want)
			}
		})
	}
}

func TestErrorSaysHowTheAnswerIsIncomplete(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		turns []modeltest.Turn
		want  string
	}{
		{"an answer of thoughts alone is empty", []modeltest.Turn{modeltest.Say("<think>", "Hm.", "</think>\n")}, "the model returned an empty answer"},
		{"an answer without text is empty", []modeltest.Turn{modeltest.Say(), modeltest.Say()}, "the model returned an empty answer"},
		{"an answer that the server ends at a limit", []modeltest.Turn{{Text: []string{"Two"}, Reason: "length"}}, "the model's answer was cut off at its token limit of 2"},
		{"an answer that fills the window", []modeltest.Turn{{Text: []string{"Two"}, PromptTokens: 16383, Reason: "length"}}, "the model's answer was cut off at its token limit of 16384"},
		{"a stream without its last part", []modeltest.Turn{{Text: []string{"Two"}, End: modeltest.Stop}}, "the model's stream ended before its last part"},
		{"a connection that breaks", []modeltest.Turn{{Text: []string{"Two"}, End: modeltest.Cut}}, "the model's stream"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			conn := bustest.Open(t)
			m, _ := scripted(t, row.turns...)
			serve(t, conn, m, "")
			got, err := stream(t.Context(), conn, ask("how many pumps?"))
			if said := fmt.Sprint(got, err); !strings.Contains(said, "AN-500") || !strings.Contains(said, row.want) {
				t.Errorf("got %q, want AN-500 and %q", said, row.want)
			}
		})
	}
}

// The planner without a model reads all groups that a result has.
func TestOfflineResultsAreNotCut(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	serve(t, conn, offline.New(), "")
	a := ask("how many pumps per site?")
	var records []string
	for i := range 900 {
		records = append(records, fmt.Sprintf(`{"site":"a site with a name that is quite long, number %03d"}`, i))
	}
	a.Context = `{"pumps":[` + strings.Join(records, ",") + `]}`
	got, err := stream(t.Context(), conn, a)
	if err != nil || !strings.Contains(got, `number 899":1`) || strings.Contains(got, `"truncated"`) {
		t.Errorf("got\n%.500s\n%v\nwant all 900 groups", got, err)
	}
}
