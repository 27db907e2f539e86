package ask

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"cairn/deploy/internal/connect"
	"cairn/edge/client"
	"cairn/schemas"
)

// typed is the input of a user, line by line.
type typed []string

func (t *typed) ReadLine() (string, error) {
	if len(*t) == 0 {
		return "", io.EOF
	}
	line := (*t)[0]
	*t = (*t)[1:]
	return line, nil
}

// listed replies to the tool call that lists the arrays of the estate, with which a conversation starts.
func listed(w io.Writer, q schemas.Analysis, result string) bool {
	want := []schemas.ToolCall{{Name: schemas.ToolInspectSchema, Input: []byte(`{"data_key":""}`)}}
	if !cmp.Equal(q.Calls, want) {
		return false
	}
	_, _ = fmt.Fprintf(w, "event: tool_result\ndata: {\"tool_call_id\":\"1\",\"result\":%s}\n\n", result)
	_, _ = io.WriteString(w, "event: done\ndata: {}\n\n")
	return true
}

// analyses returns the URL of a server with answers to analyses.
func analyses(t *testing.T, answer func(w http.ResponseWriter, q schemas.Analysis)) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q schemas.Analysis
		if err := json.UnmarshalRead(r.Body, &q); err != nil {
			t.Error(err)
		}
		answer(w, q)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// converse types the input in a conversation about the estate {}.
func converse(t *testing.T, url string, input ...string) (out, errOut string) {
	t.Helper()
	c, err := client.New(client.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	a := &askOptions{HTTP: connect.HTTP{Client: c}, mode: schemas.ModeStandard}
	var stdout, stderr strings.Builder
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	if err := a.converse(cmd, "{}", new(typed(input))); err != nil {
		t.Fatal(err)
	}
	return stdout.String(), stderr.String()
}

// TestConversation checks that each question is sent with the history, and that an error
// does not end the conversation.
func TestConversation(t *testing.T) {
	t.Parallel()
	var asked []schemas.Analysis
	url := analyses(t, func(w http.ResponseWriter, q schemas.Analysis) {
		if listed(w, q, `{"available":["hosts"],"arrays":[{"data_key":"hosts","count":31}]}`) {
			return
		}
		asked = append(asked, q) // requests are sequential
		if q.Query == "bad" {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"code":"AN-400","status":400,"title":"malformed"}`)
			return
		}
		_, _ = fmt.Fprintf(w, "event: text_delta\ndata: {\"text\":\"answer to %s\"}\n\nevent: done\ndata: {}\n\n", q.Query)
	})
	out, errOut := converse(t, url, "one", "  ", "bad", "two", "exit", "three")
	if out != "answer to one\nanswer to two\n" || !strings.Contains(errOut, "  hosts  31\n") ||
		!strings.Contains(errOut, "AN-400") {
		t.Errorf("out %q, err %q", out, errOut)
	}
	want := &schemas.Prompt{M: map[string]schemas.Utterance{"0": {R: 0, C: "one"}, "1": {R: 1, C: "answer to one"}}}
	if len(asked) != 3 || asked[0].Prompt != nil || asked[2].Context != "{}" || !cmp.Equal(asked[2].Prompt, want) {
		t.Errorf("%+v", asked)
	}
}

// TestConversationSuggestions asks suggested questions by their numbers.
func TestConversationSuggestions(t *testing.T) {
	t.Parallel()
	var asked []string
	url := analyses(t, func(w http.ResponseWriter, q schemas.Analysis) {
		if listed(w, q, `{"available":[]}`) {
			return
		}
		if !cmp.Equal(q.Include, []string{schemas.EventSuggestions}) {
			t.Errorf("%v", q.Include)
		}
		asked = append(asked, q.Query) // requests are sequential
		if q.Query == "why?" {
			_, _ = io.WriteString(w, "event: suggestions\ndata: {\"questions\":[\"How many?\",\"Which?\"]}\n\n")
		}
		_, _ = io.WriteString(w, "event: done\ndata: {}\n\n")
	})
	_, errOut := converse(t, url, "1", "why?", "2", "2", "why?", "3", "0")
	want := []string{"1", "why?", "Which?", "2", "why?", "3", "0"}
	if !cmp.Equal(asked, want) || !strings.Contains(errOut, "  2  Which?\n") {
		t.Errorf("asked %q, err %q", asked, errOut)
	}
}

// TestConversationListsArrays checks what precedes the first question.
func TestConversationListsArrays(t *testing.T) {
	t.Parallel()
	many := `{"arrays":[` + strings.Repeat(`{"data_key":"a","count":1},`, maxListed+1) + `{"data_key":"z","count":1}]}`
	for _, row := range []struct{ name, result, want, fault string }{
		{"the arrays with their counts", `{"arrays":[{"data_key":"a.b","count":31},{"data_key":"c","count":0}]}`,
			"  a.b  31\n  c  0\n", ""},
		{"no arrays, with the reason", `{"available":[],"note":"its 2 arrays contain no objects"}`,
			"the estate has no array of records: its 2 arrays contain no objects\n", ""},
		{"no arrays", `{"available":[]}`, "the estate has no array of records\n", ""},
		{"at most 20 arrays", many, strings.Repeat("  a  1\n", maxListed) + "  … and 2 more\n", ""},
		{"an error of the tool", `{"error":"no memory"}`, "", "no memory"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			url := analyses(t, func(w http.ResponseWriter, q schemas.Analysis) {
				if !listed(w, q, row.result) {
					t.Errorf("%+v", q)
				}
			})
			c, err := client.New(client.Config{URL: url})
			if err != nil {
				t.Fatal(err)
			}
			var errOut strings.Builder
			got := ""
			if err := printArrays(t.Context(), c, "{}", &errOut); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff([]string{row.want, row.fault}, []string{errOut.String(), got}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestConversationLimits(t *testing.T) {
	t.Parallel()
	var c conversation
	for i := range 200 {
		c.add(fmt.Sprint("q", i), strings.Repeat("a", 3<<10))
	}
	size := 0
	for _, m := range c.messages {
		size += len(m.C)
	}
	if size > maxHistoryBytes || len(c.messages) > maxMessages || c.messages[len(c.messages)-2].C != "q199" ||
		c.messages[0].R != 0 {
		t.Errorf("%d messages with %d bytes", len(c.messages), size)
	}
}
