package analyze_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn/bus"
	"cairn/schemas"
	"cairn/services/internal/model/modeltest"
	"cairn/services/internal/model/offline"
)

// textOf returns the text of an answer.
func textOf(t *testing.T, events string) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(events) {
		if data, ok := strings.CutPrefix(line, "text_delta "); ok {
			var delta schemas.TextDelta
			if err := json.Unmarshal([]byte(data), &delta); err != nil {
				t.Fatal(err)
			}
			b.WriteString(delta.Text)
		}
	}
	return b.String()
}

// provenanceOf returns the provenance event as one line.
func provenanceOf(events string) string {
	for line := range strings.Lines(events) {
		if data, ok := strings.CutPrefix(line, "provenance "); ok {
			return strings.TrimSpace(data)
		}
	}
	return ""
}

// nowhere returns figures without a source, which are flagged.
func nowhere(figures ...string) string {
	var list []string
	for _, f := range figures {
		list = append(list, `{"text":"`+f+`","from":"nowhere","flagged":true}`)
	}
	return strings.Join(list, ",")
}

func TestProvenance(t *testing.T) {
	t.Parallel()
	const estate = `{"pumps":[{"site":"a","kw":1200.5},{"site":"a","kw":0.25},{"site":"b7","kw":3},{"site":"8080","kw":3}]}`
	for _, row := range []struct{ name, answer, want string }{
		{"a group", "There are 2 in a.",
			`{"text":"2","from":"value","sources":[{"tool_call_id":"c","pointer":"/groups/a"}]}`},
		{"the total", "4 pumps.", `{"text":"4","from":"value","sources":[{"tool_call_id":"c","pointer":"/total"}]}`},
		{"a further metric, rounded and grouped", "Up to 1,200.5 kW, about 1,201.",
			`{"text":"1,200.5","from":"value","sources":[{"tool_call_id":"c","pointer":"/metrics/max:kw/groups/a"}]},{"text":"1,201","from":"value","sources":[{"tool_call_id":"c","pointer":"/metrics/max:kw/groups/a"}]}`},
		{"a decimal comma", "Es sind 1.200,5 kW.",
			`{"text":"1.200,5","from":"value","sources":[{"tool_call_id":"c","pointer":"/metrics/max:kw/groups/a"}]}`},
		{"thousands separated by spaces", "Il y a 1\u202f200,5 kW.",
			`{"text":"1200,5","from":"value","sources":[{"tool_call_id":"c","pointer":"/metrics/max:kw/groups/a"}]}`},
		{"a share", "50 % are in a, 25% in b7.",
			`{"text":"50%","from":"share","sources":[{"tool_call_id":"c","pointer":"/groups/a"},{"tool_call_id":"c","pointer":"/total"}]},{"text":"25%","from":"share","sources":[{"tool_call_id":"c","pointer":"/groups/8080"},{"tool_call_id":"c","pointer":"/total"}]}`},
		{"arithmetic of names of groups", "About 0.05%, and 8,076 others.", nowhere("0.05%", "8,076")},
		{"a difference", "1,197.5 kW more.",
			`{"text":"1,197.5","from":"difference","sources":[{"tool_call_id":"c","pointer":"/metrics/max:kw/groups/a"},{"tool_call_id":"c","pointer":"/metrics/max:kw/groups/8080"}]}`},
		{"the name of a group", "Port 8080.",
			`{"text":"8080","from":"value","sources":[{"tool_call_id":"c","pointer":"/groups/8080"}]}`},
		{"a number of the question", "Above 77 there is none.", `{"text":"77","from":"question"}`},
		{"invented figures", "There are 17, or 33%.",
			`{"text":"17","from":"nowhere","flagged":true},{"text":"33%","from":"nowhere","flagged":true}`},
		{"a wrong whole number", "About 1,199 kW and 2.0 pumps.",
			`{"text":"1,199","from":"nowhere","flagged":true},{"text":"2.0","from":"value","sources":[{"tool_call_id":"c","pointer":"/groups/a"}]}`},
		{"names and dates are not figures", "In b7 since 2024-05-01, at 10.0.0.9:\n1. b7\n2. a", ``},
		{"neither are networks, versions and ordinals",
			"In eu-west-1, fra1, 10.0.0.0/24, 1/0/24, v1.2, v2, rhel8, 2x10, 01/02/2024, 2024-05, at 10:30, the 2nd, 3fa9, 0x1F.", ``},
		{"names that are escaped for Markdown are not figures", `In b7\_-5\_, 2\_-9 and 10\|b: 4.`,
			`{"text":"10","from":"nowhere","flagged":true},{"text":"4","from":"value","sources":[{"tool_call_id":"c","pointer":"/total"}]}`},
		{"a unit without a space", "4pumps, up to 3kW, 17GB, 17x and 40Gbit/s.",
			`{"text":"4pumps","from":"value","sources":[{"tool_call_id":"c","pointer":"/total"}]},{"text":"3kW","from":"value","sources":[{"tool_call_id":"c","pointer":"/metrics/max:kw/groups/8080"}]},` + nowhere("17GB", "17x", "40Gbit/s")},
		{"a fraction", "2/4, 16/30.",
			`{"text":"2","from":"value","sources":[{"tool_call_id":"c","pointer":"/groups/a"}]},{"text":"4","from":"value","sources":[{"tool_call_id":"c","pointer":"/total"}]},` + nowhere("16", "30")},
		{"thousands", "Port 8.08k, about 8.1k and 1.2k; not 4k, 8.2k, 4M or 4G.",
			`{"text":"8.08k","from":"value","sources":[{"tool_call_id":"c","pointer":"/groups/8080"}]},{"text":"8.1k","from":"value","sources":[{"tool_call_id":"c","pointer":"/groups/8080"}]},{"text":"1.2k","from":"value","sources":[{"tool_call_id":"c","pointer":"/metrics/max:kw/groups/a"}]},` + nowhere("4k", "8.2k", "4M", "4G")},
		{"an exponent", "8.08e3, 4e0, 1e6, 1e+6.",
			`{"text":"8.08e3","from":"value","sources":[{"tool_call_id":"c","pointer":"/groups/8080"}]},{"text":"4e0","from":"value","sources":[{"tool_call_id":"c","pointer":"/total"}]},` + nowhere("1e6", "1e+6")},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m, _ := scripted(t, modeltest.Turn{Calls: []modeltest.Call{
				{ID: "c", Name: "compute_stats", Input: `{"data_key":"pumps","group_by":"site","metrics":["count","max:kw"]}`},
			}}, modeltest.TextTurn(row.answer))
			conn := serving(t, m)
			a := analysisOf("how many above 77?")
			a.Context, a.Include = estate, []string{"usage", "provenance"}
			got := answered(t, conn, a)
			if want := `{"figures":[` + row.want + `]}`; provenanceOf(got) != want {
				t.Errorf("got  %s\nwant %s", provenanceOf(got), want)
			}
			if lines := strings.Split(got, "\n"); !strings.HasPrefix(lines[len(lines)-2], "usage ") {
				t.Errorf("the events end with %v, want provenance, usage, done", lines[len(lines)-3:])
			}
		})
	}
}

// TestProvenanceBeforeCall: text before a tool call is traced too.
func TestProvenanceBeforeCall(t *testing.T) {
	t.Parallel()
	m, _ := scripted(t, modeltest.Turn{Text: []string{"I expect 1"}, Calls: []modeltest.Call{
		{ID: "c", Name: "compute_stats", Input: `{"data_key":"site.pumps"}`},
	}}, modeltest.TextTurn("3 pumps."))
	conn := serving(t, m)
	a := analysisOf("how many pumps?")
	a.Include = []string{"provenance"}
	got := answered(t, conn, a)
	want := `{"figures":[` + nowhere("1") +
		`,{"text":"3","from":"value","sources":[{"tool_call_id":"c","pointer":"/total"}]}]}`
	if provenanceOf(got) != want {
		t.Errorf("got  %s\nwant %s", provenanceOf(got), want)
	}
}

// TestProvenanceOfFailedCall: neither the arguments nor the error of a failed call are a
// source.
func TestProvenanceOfFailedCall(t *testing.T) {
	t.Parallel()
	m, _ := scripted(t, modeltest.ToolTurn("compute_stats", `{"data_key":"4711"}`),
		modeltest.TextTurn("There are 4711 pumps."))
	conn := serving(t, m)
	a := analysisOf("how many pumps?")
	a.Include = []string{"provenance"}
	got := answered(t, conn, a)
	if want := `{"figures":[` + nowhere("4711") + `]}`; provenanceOf(got) != want {
		t.Errorf("got  %s\nwant %s", provenanceOf(got), want)
	}
}

// TestOfflineProvenanceOfExample uses the example estate that ships with Cairn.
func TestOfflineProvenanceOfExample(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "examples", "estate.json"))
	if err != nil {
		t.Fatal(err)
	}
	conn := serving(t, offline.New())
	for _, question := range []string{
		"how many hosts are there per site?",
		"how many vlans are not routed?",
		"what is the average cpu_percent of hosts per role?",
		"which share of hosts is patched?",
		"what is the total memory_gb per vendor?",
		"how many hosts have more than 8 cpus?",
		"which site has the most hosts?",
		"which volumes have the largest used_gb?",
		"what do we have?",
	} {
		if p := checkFigures(t, conn, question, string(text)); !strings.Contains(p, `"from"`) {
			t.Errorf("%s: the answer has no figure", question)
		}
	}
}

// checkFigures asks a question, checks that no figure of the answer is flagged, and
// returns the provenance.
func checkFigures(t *testing.T, conn *bus.Conn, question, context string) string {
	t.Helper()
	a := analysisOf(question)
	a.Context, a.Include = context, []string{"provenance"}
	got := answered(t, conn, a)
	p := provenanceOf(got)
	if p == "" || strings.Contains(p, "flagged") {
		t.Errorf("%s\n%s\n%s", question, textOf(t, got), p)
	}
	return p
}

// TestOfflineProvenance: every figure of the planner has a source, in the answers to the questions of CAIRN_EVAL.
func TestOfflineProvenance(t *testing.T) {
	t.Parallel()
	root := os.Getenv("CAIRN_EVAL")
	if root == "" {
		t.Skip("needs CAIRN_EVAL, the directory of the evaluation data")
	}
	conn := serving(t, offline.New())
	checkSet(t, conn, filepath.Join(root, "estates", "questions-dev.jsonl"))
}

// checkSet asks the questions of a file about the estates in its directory.
func checkSet(t *testing.T, conn *bus.Conn, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var q struct{ Type, Question, Estate string }
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(filepath.Dir(path), q.Estate+".json"))
		if q.Type == "stats" || err != nil { // large estates are compressed
			continue
		}
		checkFigures(t, conn, q.Question, string(text))
	}
}
