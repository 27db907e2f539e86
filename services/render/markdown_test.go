package render_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"cairn/services/internal/markdown"
	"cairn/services/internal/markdown/markdowntest"
)

func TestTextsEscapeValues(t *testing.T) {
	t.Parallel()
	conn := serve(t)
	groups := map[string]int{}
	answer := "Hosts by site:"
	for _, v := range markdowntest.Hostile {
		groups[v] = 7
		answer += "\n- " + markdown.Escape(v) + ": 7"
	}
	result, err := json.Marshal(map[string]any{"groups": groups, "total": 7 * len(groups)})
	if err != nil {
		t.Fatal(err)
	}
	input, err := json.Marshal(map[string]any{"data_key": "hosts <b>", "group_by": "site\n# *x*",
		"filter": map[string]any{"![x](http://evil/)": "<img src=x>\n- a"}})
	if err != nil {
		t.Fatal(err)
	}
	rendering := analysis(answer, string(input), string(result))

	got := rendered(t, conn, rendering)
	for _, name := range markdowntest.Elements(t, got) {
		if !slices.Contains([]string{"p", "strong", "table", "thead", "tbody", "tr", "th", "td"},
			name) { // the list is omitted: the table repeats it
			t.Errorf("element %s in\n%s", name, markdowntest.HTML(t, got))
		}
	}
	if html := markdowntest.HTML(t, got); !strings.Contains(html, "<td>&lt;img src=x onerror=alert(1)&gt;</td>") {
		t.Errorf("got\n%s\nwant the label as text", html)
	}

	got = rendered(t, conn, forReader(rendering, `{"format":"plain"}`))
	lines := strings.Split(got, "\n")
	if want := "hosts <b> by site # *x* (![x](http://evil/) = <img src=x> - a)"; lines[0] != "Hosts by site:" ||
		lines[2] != want {
		t.Errorf("plain text is\n%s\nwant the title %q", got, want)
	}
	if want := len(groups) + 5; len(lines) != want { // the answer, an empty line, the title, the header, the totals
		t.Errorf("plain text has %d lines, want %d:\n%s", len(lines), want, got)
	}
	for _, want := range []string{"\n[x](javascript:alert(1))  ", "\nx # heading  ", "\n\uFFFD[31mred  "} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}

	rendering = analysis(`1 host with vm\|name \*b\* in C:\x.`, bySite, `{"error":"none"}`)
	if got, want := rendered(t, conn, forReader(rendering, `{"format":"plain"}`)),
		`1 host with vm|name *b* in C:\x.`; got != want {
		t.Errorf("plain text %q, want %q", got, want)
	}
}
