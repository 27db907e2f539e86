package security

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"

	"cairn/test/cairntest"
)

// TestAnswersAreInertMarkdown asks a counting question about an estate whose group
// values are Markdown and HTML, and renders the answer with raw HTML allowed.
func TestAnswersAreInertMarkdown(t *testing.T) {
	t.Parallel()
	values := []string{
		"<img src=x onerror=alert(1)>", "[x](javascript:alert(1))", "![x](http://evil/)", "| a |", "*b*", "`c`",
		"x\n# heading", "- item", "# heading", "a\n\n<script>alert(1)</script>", "&lt;b>", "vm_name",
	}
	var hosts []map[string]string
	for _, v := range values {
		hosts = append(hosts, map[string]string{"site": v})
	}
	estate, err := json.Marshal(map[string]any{"hosts": hosts})
	must(t, err)
	for name, row := range map[string]struct {
		flags    []string
		elements []string
		want     string
	}{
		"the planner": {nil, []string{"li", "p", "ul"}, "<li>&lt;img src=x onerror=alert(1)&gt;: 1</li>"},
		"the rendering agent": {[]string{"--render", "cairn.render"},
			[]string{"p", "strong", "table", "tbody", "td", "th", "thead", "tr"},
			"<td>vm_name</td>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := cairntest.Up(t, append([]string{"--model", "offline:"}, row.flags...)...)
			body, err := json.Marshal(map[string]any{
				"query": "How many hosts are there per site?", "context": string(estate), "target": "H", "mode": "standard",
			})
			must(t, err)
			var page bytes.Buffer
			gfm := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe()))
			must(t, gfm.Convert([]byte(answerText(t, p.URL(), body)), &page))
			var elements []string
			for _, tag := range regexp.MustCompile(`<([a-zA-Z!]\w*)`).FindAllStringSubmatch(page.String(), -1) {
				elements = append(elements, tag[1])
			}
			slices.Sort(elements)
			if got := slices.Compact(elements); !slices.Equal(got, row.elements) || !strings.Contains(page.String(), row.want) {
				t.Errorf("elements %q, want %q and %q, in\n%s", got, row.elements, row.want, page.String())
			}
		})
	}
}

// answerText posts an analysis and returns the text of its answer.
func answerText(t *testing.T, url string, body []byte) string {
	t.Helper()
	status, events := sendJSON(t, http.MethodPost, url+"/api/v1/analyze", string(body))
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, events)
	}
	var text strings.Builder
	for event := range strings.SplitSeq(events, "\n\n") {
		if _, data, ok := strings.Cut(event, "event: text_delta\ndata: "); ok {
			var delta struct {
				Text string `json:"text"`
			}
			must(t, json.Unmarshal([]byte(data), &delta))
			text.WriteString(delta.Text)
		}
	}
	return text.String()
}
