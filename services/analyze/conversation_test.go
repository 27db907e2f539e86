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

	"cairn/schemas"
	"cairn/services/internal/model/modeltest"
	"cairn/services/internal/model/offline"
)

var update = flag.Bool("update", false, "update the golden prompts")

// TestPrompts compares the whole system prompt with testdata.
func TestPrompts(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{schemas.ModeStandard, schemas.ModeBroad} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			m, server := scripted(t, modeltest.TextTurn("Three."))
			conn := serving(t, m)
			a := analysisOf("how many pumps?")
			a.Mode = mode
			answered(t, conn, a)
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
				t.Errorf("prompt (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHistoryFitsWindow: the newest messages are sent, after a note that others are
// left out.
func TestHistoryFitsWindow(t *testing.T) {
	t.Parallel()
	m, server := narrow(t, 4096, modeltest.TextTurn("Three."))
	conn := serving(t, m)
	a := analysisOf("how many pumps?")
	a.Prompt = &schemas.Prompt{M: map[string]schemas.Utterance{}}
	for i := range 200 {
		a.Prompt.M[strconv.Itoa(i)] = schemas.Utterance{R: i % 2,
			C: fmt.Sprintf("message %d %s", i, strings.Repeat("x", 100))}
	}
	answered(t, conn, a)
	messages := server.Requests()[0].Messages
	if got := messages[1].Content; got != "(Earlier messages are left out.)" {
		t.Errorf("the history begins with %q", got)
	}
	history := messages[2 : len(messages)-1]
	for i, sent := range history {
		if want := fmt.Sprintf("message %d ", 200-len(history)+i); !strings.HasPrefix(sent.Content, want) {
			t.Fatalf("message %d of the history is %q, want %q", i, sent.Content, want)
		}
	}
	size := 0
	for _, sent := range messages {
		size += len(sent.Content)
	}
	if size > 4096*3/2 || len(history) < 5 {
		t.Errorf("%d messages with %d bytes in all, want more than a few in half of the window", len(history), size)
	}
}

// TestResultsFitWindow: results keep their largest groups.
func TestResultsFitWindow(t *testing.T) {
	t.Parallel()
	group := modeltest.ToolTurn("compute_stats", `{"data_key":"pumps","group_by":"id","metrics":["count","max:n"]}`)
	m, _ := narrow(t, 4096, group, group, group, modeltest.TextTurn("Many."))
	conn := serving(t, m)
	a := analysisOf("how many pumps by id?")
	var records []string
	for i := range 900 {
		records = append(records, fmt.Sprintf(`{"id":"pump-%03d","n":%d}`, i, i))
	}
	a.Context = `{"pumps":[` + strings.Join(append(records, records[7]), ",") + `]}`
	got, err := stream(t.Context(), conn, a)
	if err != nil || !strings.HasSuffix(got, "text_delta {\"text\":\"Many.\"}\ndone {}") {
		t.Fatalf("got\n%.2000s\n%v", got, err)
	}
	history := 0
	for line := range strings.Lines(got) {
		result, ok := strings.CutPrefix(line, "tool_result ")
		if !ok {
			continue
		}
		history += len(result)
		if !strings.Contains(result, `"groups":{"pump-007":2,`) || !strings.Contains(result, `"truncated":true`) ||
			!strings.Contains(result, `"group_count":900`) {
			t.Errorf("got %.300s, want the largest group, and truncated", result)
		}
	}
	if history > 4096*3 {
		t.Errorf("the results have %d bytes, want at most the window", history)
	}
}

func TestCallOrder(t *testing.T) {
	t.Parallel()
	both := modeltest.Turn{}
	var want []string
	for i := range 5 {
		id := strconv.Itoa(i)
		both.Calls = append(both.Calls, modeltest.Call{ID: id, Name: "inspect_schema", Input: `{"data_key":"site.pumps"}`})
		want = append(want, `tool_use {"tool_call_id":"`+id+`"`, `tool_result {"tool_call_id":"`+id+`"`)
	}
	m, server := scripted(t, both, modeltest.TextTurn("Three."))
	conn := serving(t, m)
	got := answered(t, conn, analysisOf("how many pumps?"))
	lines := strings.Split(got, "\n")
	for i, w := range want {
		if !strings.HasPrefix(lines[i], w) {
			t.Errorf("event %d is %s, want %s", i, lines[i], w)
		}
	}
	if got := len(server.Requests()[1].Messages); got != 2+1+5 {
		t.Errorf("the second request has %d messages, want 8", got)
	}
}

func TestThinkTags(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		pieces []string
		want   string
	}{
		{"in one piece", []string{"<think>7?</think>Three."}, "Three."},
		{"in many pieces", []string{"<th", "ink>7", "? </th", "ink", ">Th", "ree."}, "Three."},
		{"twice", []string{"<think>7?</think>Three", "<think>!</think>."}, "Three."},
		{"no tag", []string{"a <", " b <t", "h> c"}, "a < b <th> c"},
		{"an incomplete tag at the end", []string{"Three <thi"}, "Three <thi"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m, _ := scripted(t, modeltest.TextTurn(row.pieces...))
			conn := serving(t, m)
			got := answered(t, conn, analysisOf("how many pumps?"))
			if sent := textOf(t, got); sent != row.want {
				t.Errorf("got %q, want %q", sent, row.want)
			}
		})
	}
}

func TestIncompleteAnswers(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		turns []modeltest.Turn
		want  string
	}{
		{"an answer of reasoning alone is empty", []modeltest.Turn{modeltest.TextTurn("<think>", "Hm.", "</think>\n")},
			"the model returned an empty answer"},
		{"an answer without text is empty", []modeltest.Turn{modeltest.TextTurn(), modeltest.TextTurn()},
			"the model returned an empty answer"},
		{"an answer truncated at the token limit", []modeltest.Turn{{Text: []string{"Two"}, Reason: "length"}},
			"the model's answer was cut off at its token limit of 2"},
		{"a stream without its last part", []modeltest.Turn{{Text: []string{"Two"}, End: modeltest.Stop}},
			"the model's stream ended before its last part"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m, _ := scripted(t, row.turns...)
			conn := serving(t, m)
			got, err := stream(t.Context(), conn, analysisOf("how many pumps?"))
			if sent := fmt.Sprint(got, err); !strings.Contains(sent, "AN-500") || !strings.Contains(sent, row.want) {
				t.Errorf("got %q, want AN-500 and %q", sent, row.want)
			}
		})
	}
}

// TestOfflineResultsAreNotTruncated: the planner gets all groups of a result.
func TestOfflineResultsAreNotTruncated(t *testing.T) {
	t.Parallel()
	conn := serving(t, offline.New())
	a := analysisOf("how many pumps per site?")
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
