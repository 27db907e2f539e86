package browser

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"

	"cairn/edge/console"
)

// openMarkdown opens a page with the policy and the modules of the console. The page has the functions
// markdown, which returns the elements of a text, and show, which returns them as HTML.
func openMarkdown(t *testing.T) *page {
	t.Helper()
	files, err := console.Load()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		file, ok := files.File(r.URL.Path[1:])
		if !ok {
			file = console.File{Content: []byte("<!doctype html><link rel=icon href=/icon.svg>"), Media: "text/html"}
		}
		w.Header().Set("Content-Type", file.Media)
		w.Header().Set("Content-Security-Policy", console.ContentSecurityPolicy)
		_, _ = w.Write(file.Content)
	}))
	t.Cleanup(server.Close)
	p := openPage(t, &suite{browser: startBrowser(t)}, server.URL, "")
	p.eval(`Promise.all([import('/markdown.js'), import('/preact.js')]).then(([{Markdown}, {render}]) => {
		window.markdown = (text) => Markdown({text});
		window.show = (text) => { render(markdown(text), document.body); return document.body.firstChild.innerHTML; };
	})`, nil)
	return p
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	p := openMarkdown(t)
	for _, row := range []struct{ name, text, want string }{
		{"headings begin at level 3", "# a\n### b", "<h3>a</h3><h5>b</h5>"},
		{"emphasis, code and breaks", "**a** *b* `c`\nd  \ne",
			"<p><strong>a</strong> <em>b</em> <code>c</code>\nd<br>e</p>"},
		{"a list in a list, and one with a first number", "- a\n  - b\n\n3. c",
			`<ul><li>a<ul><li>b</li></ul></li></ul><ol start="3"><li>c</li></ol>`},
		{"a table has the alignment of numbers", "|a|b|\n|-|-:|\n|1|2|",
			`<div class="table-wrap" tabindex="0" role="region" aria-label="Table"><table>` +
				`<thead><tr><th>a</th><th class="right">b</th></tr></thead>` +
				`<tbody><tr><td>1</td><td class="right">2</td></tr></tbody></table></div>`},
		{"code is not Markdown", "```js\n*a*\n```", `<pre tabindex="0"><code>*a*</code></pre>`},
		{"a link opens a tab that does not know the console", "[a](https://b.example/?c&d)",
			`<p><a href="https://b.example/?c&amp;d" rel="noopener noreferrer nofollow" target="_blank">a</a></p>`},
		{"a link of another scheme is text", "[a](javascript:b) [c](data:text/html,d) [e](//f)",
			"<p>[a](javascript:b) [c](data:text/html,d) [e](//f)</p>"},
		{"HTML is text", "<b>a</b>\n\n<script>b</script>",
			"<p>&lt;b&gt;a&lt;/b&gt;</p><p>&lt;script&gt;b&lt;/script&gt;</p>"},
		{"an image is a link", "![a](https://b.example/c.png)",
			`<p>!<a href="https://b.example/c.png" rel="noopener noreferrer nofollow" target="_blank">a</a></p>`},
		{"a definition without a link is visible", "[a]: https://b.example 'c'", "<p>[a]: https://b.example 'c'</p>"},
		{"blocks that are nested too deeply are visible", strings.Repeat("> ", 20) + "a",
			strings.Repeat("<blockquote>", 18) + "<p>&gt; &gt; a</p>" + strings.Repeat("</blockquote>", 18)},
	} {
		var got string
		if p.eval("show("+quoted(row.text)+")", &got); got != row.want {
			t.Errorf("%s: got  %s\nwant %s", row.name, got, row.want)
		}
	}
}

// TestMarkdownWork doubles texts that a registrar can store. The processor time of the renderer must not
// grow faster than the text.
func TestMarkdownWork(t *testing.T) {
	t.Parallel()
	p := openMarkdown(t)
	p.run(command(performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks}))
	for _, row := range []struct{ name, text string }{
		{"blanks in a line", `'a' + ' '.repeat(n) + 'b'`},
		{"blanks in a heading", `'# a' + ' '.repeat(n) + 'b'`},
		{"blank lines in a list", `'- a\n' + '\n'.repeat(n) + '  b'`},
		{"unclosed brackets", `'['.repeat(n)`},
		{"nested brackets", `'['.repeat(n / 2) + ']'.repeat(n / 2)`},
		{"unclosed links", `'[a]('.repeat(n / 4)`},
		{"unclosed titles of links", `'[a](b "'.repeat(n / 7)`},
		{"unclosed images", `'![a]('.repeat(n / 5)`},
		{"backslashes", `'[' + '\\a'.repeat(n / 2)`},
		{"growing runs of backticks", "Array.from({length: Math.sqrt(2 * n)}, (_, i) => 'a' + '`'.repeat(i)).join('')"},
		{"backticks", "'`a'.repeat(n / 2)"},
		{"unclosed emphasis", `'*a _b '.repeat(n / 6)`},
		{"unclosed strong emphasis", `'**a __b '.repeat(n / 8)`},
		{"runs of emphasis", `'a***b'.repeat(n / 5)`},
		{"nested emphasis", `'*a **b '.repeat(n / 14) + 'b** a* '.repeat(n / 14)`},
		{"unclosed tags", `'<'.repeat(n)`},
		{"unclosed automatic links", `'<http://a '.repeat(n / 10)`},
		{"unclosed comments", `'<!-- '.repeat(n / 5)`},
		{"unclosed entities", `'&#1'.repeat(n / 3)`},
		{"quotes in quotes", `'>'.repeat(n)`},
		{"quotes of growing depth", `Array.from({length: Math.sqrt(2 * n)}, (_, i) => '>'.repeat(i) + 'a\n').join('')`},
		{"lists in lists", `'- '.repeat(n / 2) + 'a'`},
		{"lists of growing depth", `Array.from({length: Math.sqrt(n)}, (_, i) => ' '.repeat(2 * i) + '- a\n').join('')`},
		{"items", `'- a\n\n'.repeat(n / 5)`},
		{"numbers of lists in lists", `'1. '.repeat(n / 3)`},
		{"rows of a table", `'|a|b|\n|-|-|\n' + '|a|b|\n'.repeat(n / 6)`},
		{"columns of a table", `'|a'.repeat(n / 4) + '\n' + '|-'.repeat(n / 4)`},
		{"tables of short rows", `'|a'.repeat(n / 8) + '\n' + '|-'.repeat(n / 8) + '\n' + '|\n'.repeat(n / 4)`},
		{"delimiters of a table", `'a|b\n|' + ' '.repeat(n) + 'x'`},
		{"unclosed fences", "'~~~\\n```a\\n'.repeat(n / 9)"},
		{"definitions", `'[a]: b\n'.repeat(n / 7)`},
		{"underlines", `'a\n=\n'.repeat(n / 4)`},
	} {
		var times []time.Duration
		for n := 1000; n <= 256_000; n *= 2 {
			before := p.processorTime()
			p.eval(fmt.Sprintf("(n => { markdown(%s); })(%d)", row.text, n), nil)
			times = append(times, p.processorTime()-before)
			// Eight times the text in more than three times eight times the time is not linear.
			last := len(times) - 1
			if last < 3 {
				continue
			}
			if bound := 24 * max(times[last-3], 10*time.Millisecond); times[last] > bound {
				t.Errorf("%s: %d characters take %v, want at most %v", row.name, n, times[last], bound)
				break
			}
		}
		t.Logf("%s: %v", row.name, times)
	}
}

// processorTime returns the time that the main thread of the page has used. It needs performance.Enable.
func (p *page) processorTime() (used time.Duration) {
	p.t.Helper()
	p.run(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		result, err := cdp.Call(ctx, t, performance.GetMetrics, cdp.Empty{})
		for _, metric := range result.Metrics {
			if metric.Name == "ThreadTime" {
				used = time.Duration(metric.Value * float64(time.Second))
			}
		}
		return err
	}))
	return used
}
