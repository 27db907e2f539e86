package offline_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"cairn/services/internal/estate"
	"cairn/services/internal/markdown/markdowntest"
)

// hostile is an estate of hosts whose values, and the names of an array and a
// field, are hostile.
func hostile(t *testing.T) *estate.Estate {
	t.Helper()
	type record = map[string]any
	var hosts []record
	for i, v := range markdowntest.Hostile {
		hosts = append(hosts, record{"name": v, "site": v, "role": "db", "tags": []string{v}, "rack<b>x</b>": "r1", "load *x*": i,
			"zone": "<i>north"})
	}
	text, err := json.Marshal(record{"hosts": hosts, "disks <u>[x](http://evil/)</u>": []record{{"size": 1}}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := estate.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestAnswersEscapeValues(t *testing.T) {
	t.Parallel()
	e := hostile(t)
	for _, row := range []struct{ name, question, want string }{
		{"groups", "How many hosts are there per site?", "<li>&lt;img src=x onerror=alert(1)&gt;: 1</li>"},
		{"names", "List the hosts with role db", "[x](javascript:alert(1)), "},
		{"the largest groups", "Top 5 sites", "<li>"},
		{"the largest group", "Which site has the most hosts?", " 1 host each"},
		{"the largest value", "Which host has the highest load?", "load *x*"},
		{"an average by groups", "Average load per site of the hosts", "load *x*"},
		{"fields", "What fields do hosts have?", "rack&lt;b&gt;x&lt;/b&gt;"},
		{"an overview", "What is in this data?", "<li>20 hosts</li>"},
		{"the names of all arrays", "What is in this data?", "1 disks u"},
		{"a condition", "How many hosts are in zone north?", "zone = &lt;i&gt;north"},
		{"a field of a hostile name", "How many hosts per rack x?", "rack&lt;b&gt;x&lt;/b&gt;"},
		{"values of a field", "How many different racks are there?", "rack&lt;b&gt;x&lt;/b&gt;"},
		{"a refusal", "How many hosts are <img src=x>bogus</img>?", "You could ask:"},
		{"words of the question", "How many *bogus* `nurses` [x](http://evil/) are there?", "Unknown term"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, _ := ask(t, e, row.question)
			for _, name := range markdowntest.Elements(t, got) {
				if !slices.Contains([]string{"p", "ul", "ol", "li"}, name) {
					t.Errorf("element %s in\n%s", name, markdowntest.HTML(t, got))
				}
			}
			if html := markdowntest.HTML(t, got); !strings.Contains(html, row.want) {
				t.Errorf("%q is not in\n%s", row.want, html)
			}
			if strings.Contains(got, "\x1b") {
				t.Errorf("a control character in %q", got)
			}
		})
	}
}
