package browser

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"cairn/test/cairntest"
)

//go:embed testdata/axe.min.js
var axe string

// views are all views, with a selector that each shows when it is complete.
var views = [][2]string{
	{"#/search", "form.search"},
	{volumes, ".hit"},
	{volumes + "&kind=agent", ".hit"},
	{"#/catalog/tool?tenant=acme", "tbody tr"},
	{"#/catalog/skill/storage.volume_capacity?tenant=acme", ".fields"},
	{"#/catalog/skill/storage.volume_capacity?tenant=acme&tab=json", ".json"},
	{"#/catalog/skill/storage.volume_capacity?tenant=acme&tab=history", "tbody tr"},
	{"#/catalog/skill/storage.volume_capacity/edit?tenant=acme", "form.record"},
	{"#/register/skill", "form.record"},
	{"#/package?tenant=acme", ".cards"},
	{"#/package/storage.volume_capacity?tenant=acme", ".parts"},
	{"#/ask", ".compose"},
	{"#/runs", "tbody tr"},
	{"#/tags", "details"},
	{"#/usage?tenant=acme", "tbody tr"},
	{"#/audit?tenant=acme", "tbody tr"},
	{"#/health", ".tiles"},
	{"#/nothing", ".empty"},
}

// everyView opens each view, and the view of an answer, and calls check.
func everyView(t *testing.T, p *page, check func(name string)) {
	t.Helper()
	p.open("#/ask")
	p.useEstate(estate)
	p.ask("how many hosts per site?")
	p.waitText(".question .status", "Done")
	check("an answer")
	for _, v := range views {
		p.open(v[0])
		p.wait(fmt.Sprintf("document.querySelector(%s) && !document.querySelector('.loading')", quoted(v[1])))
		check(v[0])
	}
}

func testAccessibility(t *testing.T, s *suite) {
	p := openPage(t, s, s.open.URL(), "")
	p.wait("document.querySelector('form.search')")
	p.eval(axe, nil)
	for _, scheme := range []string{"light", "dark"} {
		p.prefer("prefers-color-scheme", scheme)
		everyView(t, p, func(name string) { p.accessible(scheme + " " + name) })
		if scheme == "light" {
			p.open("#/ask")
			p.click("Change the estate")
		}
	}
	p.open("#/catalog/tool/wiki.pages.search")
	p.click("Delete")
	p.wait("document.querySelector('dialog[open]')")
	p.accessible("the dialog")
	q := openPage(t, s, s.keyed.URL(), "")
	q.waitText("h1", "Sign in")
	q.expect(401)
	q.eval(axe, nil)
	q.accessible("the sign-in")
}

// accessible runs axe-core on the page.
func (p *page) accessible(name string) {
	p.t.Helper()
	var violations []string
	p.eval(`axe.run().then(r => r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.html + ' ' + n.failureSummary).join('\n')))`, &violations)
	for _, v := range violations {
		p.t.Errorf("%s violates %s", name, v)
	}
}

func testNarrow(t *testing.T, s *suite) {
	p := openPage(t, s, s.open.URL(), "")
	p.resize(390, 844)
	everyView(t, p, p.fitsPhone)
	p.open("#/runs")
	p.wait("document.querySelector('.stored tr')")
	p.wait("[...document.querySelectorAll('.stored, .own')].every(e => e.parentElement.scrollWidth <= e.parentElement.clientWidth)")
	p.wait("!document.querySelector('#navigation').checkVisibility()")
	p.click("Menu")
	p.wait("document.querySelector('.menu').getAttribute('aria-expanded') === 'true'")
	p.click("Catalog")
	p.waitText("h1", "Catalog")
	p.wait("!document.querySelector('#navigation').checkVisibility()")
	p.expect(404) // the manual has no favicon.ico
	var manual []string
	p.run(chromedp.Navigate(s.open.URL() + "/docs"))
	p.eval("[...document.querySelectorAll('nav a')].map(a => a.href)", &manual)
	if len(manual) < 15 {
		t.Errorf("the manual has %d pages, want at least 15", len(manual))
	}
	for _, url := range manual {
		p.run(chromedp.Navigate(url))
		p.fitsPhone(url)
	}
}

// fitsPhone checks that the page does not scroll sideways at a width of 390 pixels.
func (p *page) fitsPhone(name string) {
	p.t.Helper()
	var wide string // the innermost elements that begin in the page and end outside of it
	p.eval(`document.documentElement.scrollWidth <= 390 ? '' : [document.documentElement.scrollWidth, ...[...document.querySelectorAll('body *')].filter(
		e => e.getBoundingClientRect().right > 390 && ![...e.children].some(c => c.getBoundingClientRect().right > 390)).map(
		e => e.cloneNode().outerHTML)].slice(0, 9).join(' ')`, &wide)
	if wide != "" {
		p.t.Errorf("%s is wider than 390 pixels: %s", name, wide)
	}
}

func testKeyboard(t *testing.T, s *suite) {
	p := openPage(t, s, s.open.URL(), volumes)
	p.waitText(".hit", "storage.volume_capacity")
	p.press("\t") // the first stop is the link that skips the navigation
	p.wait("document.activeElement.innerText === 'Skip to content'")
	p.press("\r")
	p.wait("document.activeElement.id === 'title'")
	p.press("/")
	p.wait("document.activeElement.id === 'query'")
	p.eval("document.querySelector('.hit a').focus()", nil)
	p.press("\r")
	p.waitText("h1", "Volume capacity at Acme")
	p.wait("document.activeElement.id === 'title'")
	p.eval("[...document.querySelectorAll('button')].find(b => b.innerText === 'Delete').focus()", nil)
	p.press("\r")
	p.wait("document.querySelector('dialog[open]').contains(document.activeElement)")
	p.press("\u001b") // Escape
	p.wait("!document.querySelector('dialog') && document.activeElement.innerText === 'Delete'")
	p.open("#/ask")
	p.useEstate(estate)
	p.eval("document.querySelector('#query').focus()", nil)
	p.press("how many hosts?\r")
	p.waitText(".answer", "3 hosts")
}

// markup must be rendered as text. A script that runs sets window.injected.
const markup = `"><img src=x onerror="window.injected=1"><script>window.injected=1</script><svg onload="window.injected=1"> ` +
	`[link](javascript:window.injected=1) [data](data:text/html,<script>window.injected=1</script>) ![image](https://example.com/x.png) ` +
	`<a href="javascript:window.injected=1">x</a> {{1+1}} ${1+1}`

func testInjection(t *testing.T, s *suite) {
	p := openPage(t, s, s.open.URL(), "#/search?tenant=xss")
	p.wait("document.querySelector('form.search')")
	fields := map[string]any{}
	for _, name := range []string{"display_name", "purpose", "description", "output_type", "instructions", "unknown",
		"<img src=x>"} {
		fields[name] = markup
	}
	for _, name := range []string{"status", "license"} {
		fields[name] = "<img src=x onerror=window.injected=1>"
	}
	for _, name := range []string{"capabilities", "example_queries", "context_descriptions"} {
		fields[name] = []string{markup}
	}
	for _, name := range []string{"context_builder_ids", "tool_ids", "guardrail_ids"} {
		fields[name] = []string{"<img/src=x.onerror=window.injected=1>"}
	}
	fields["template_id"] = "javascript:alert"
	fields["labels"] = map[string]string{"a": markup[:40], "b": "<b>bold</b>"}
	fields["resources"] = []any{map[string]any{"path": "a/<img src=x>.html", "media_type": "text/html", "text": markup}}
	fields["nested"] = map[string]any{markup: []any{markup, map[string]any{"x": markup}}}
	p.put("skill", "xss.skill", fields)
	for kind, id := range map[string]string{
		"agent": "xss.agent", "tool": "xss.x.tool", "context_builder": "xss.cb", "guardrail": "xss.guard",
		"template": "xss.template",
	} {
		p.put(kind, id, map[string]any{"description": markup, "purpose": markup, "domain": "<b>domain</b>",
			"instructions": markup,
			"skill_ids":    []string{"xss.skill"}})
	}
	for _, fragment := range []string{
		"#/search?tenant=xss&q=img+onerror+window+injected", "#/catalog/skill/xss.skill?tenant=xss",
		"#/catalog/skill/xss.skill?tenant=xss&tab=json", "#/catalog/skill/xss.skill/edit?tenant=xss",
		"#/catalog/agent/xss.agent?tenant=xss",
		"#/catalog/tool?tenant=xss", "#/catalog/tool/xss.x.tool?tenant=xss",
		"#/catalog/context_builder/xss.cb?tenant=xss", "#/catalog/guardrail?tenant=xss",
		"#/catalog/template/xss.template?tenant=xss",
		"#/catalog/skill?tenant=" + "%3Cimg%20src%3Dx%20onerror%3Dwindow.injected%3D1%3E",
		"#/search?q=%3Cimg%20src%3Dx%3E&tenant=xss",
		"#/package/xss.skill?tenant=xss", "#/package?tenant=xss", "#/tags/%3Cimg%20src%3Dx%3E", "#/runs/%3Cimg%20src%3Dx%3E",
		"#/%3Cimg%20src%3Dx%3E",
	} {
		p.open(fragment)
		p.wait("document.querySelector('.hit, .fields, .json, form.record, tbody, .parts, .cards, .empty, [role=alert]') && !document.querySelector('.loading')")
		p.harmless(fragment)
	}
	p.expect(400)
	p.expect(404)
	p.open("#/ask")
	hosts, err := json.Marshal(map[string]any{
		"hosts":       []any{map[string]any{"name": markup, "site": markup}, map[string]any{"name": "b", "site": "<b>x</b>"}},
		"<img src=x>": []any{map[string]any{"<b>": markup}},
	})
	if err != nil {
		t.Fatal(err)
	}
	p.useEstate(string(hosts))
	p.ask("how many hosts per site?")
	p.waitText(".question .status", "Done")
	p.harmless("an answer")

	model := openPage(t, s, s.keyed.URL(), "#/ask")
	model.signIn(s.key(t, "analyst", "--tenant", "acme"))
	model.useEstate(string(hosts))
	model.ask("say: " + markup + " [good](https://example.com/good)")
	model.waitText(".question .status", "Done")
	model.harmless("the words of a model")
	model.wait("[...document.querySelectorAll('.answer a')].some(a => a.href === 'https://example.com/good' && a.rel.includes('noopener'))")
}

// put stores a record of the tenant xss.
func (p *page) put(kind, id string, record map[string]any) {
	p.t.Helper()
	if refused := p.tryPutOf("xss", kind, id, record); refused != "" {
		p.t.Fatalf("store %s %s: %s", kind, id, refused)
	}
}

// harmless checks that no markup of data has become an element, a script or a link.
func (p *page) harmless(name string) {
	p.t.Helper()
	var problem string
	p.eval(`(() => {
		if (window.injected) return 'a script ran';
		const elements = '#app :is(img, script, iframe, b, object, style, [onerror], [onload])';
		const links = [...document.querySelectorAll('a')]
			.filter(a => !/^https?:$/.test(new URL(a.getAttribute('href'), location).protocol));
		return [...document.querySelectorAll(elements), ...links].map(e => e.outerHTML).join();
	})()`, &problem)
	if problem != "" {
		p.t.Errorf("%s: %s", name, problem)
	}
}

// Bounds of the first view. BenchmarkFirstView measures its time.
const (
	maxRequests = 16
	maxTransfer = 50 << 10 // bytes, compressed
)

// testFirstView checks what determines the time to the first view: few, small requests, all of them
// listed in the page except for the identity of the caller.
func testFirstView(t *testing.T, s *suite) {
	p := openPage(t, s, s.open.URL(), "")
	p.wait("document.querySelector('form.search') && performance.getEntriesByName('first-view').length")
	var loaded []struct {
		Name string
		Size int
		By   string
	}
	p.eval(`[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].filter(
		e => e.startTime <= performance.getEntriesByName('first-view')[0].startTime).map(
		e => ({name: new URL(e.name).pathname, size: e.transferSize, by: e.initiatorType}))`, &loaded)
	total := 0
	for _, l := range loaded {
		total += l.Size
		if l.By == "script" && !strings.HasSuffix(l.Name, "/app.js") || l.By == "fetch" && l.Name != "/identity" {
			t.Errorf("the first view waits for %s, which the page does not name", l.Name)
		}
	}
	if len(loaded) > maxRequests || total > maxTransfer || total == 0 {
		t.Errorf("the first view makes %d requests with %d bytes, want at most %d with %d", len(loaded), total, maxRequests,
			maxTransfer)
	}
	t.Logf("%d requests, %d bytes", len(loaded), total)
}

// BenchmarkFirstView measures the time from the navigation until the first view accepts
// input, without a cache, in a new tab each time.
func BenchmarkFirstView(b *testing.B) {
	browser := startBrowser(b)
	server := cairntest.Up(b, "--data", "", "--model", "offline:")
	const interactive = `new Promise(resolve => {
		const done = () => document.activeElement?.id === 'query' && (resolve(performance.now()), true);
		done() || new MutationObserver((_, o) => done() && o.disconnect())
			.observe(document, {subtree: true, childList: true, attributes: true});
		document.addEventListener('focusin', done);
	})`
	var times []float64
	for b.Loop() {
		ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
		if err := chromedp.Do(ctx, chromedp.Navigate(server.URL()+"/")); err != nil {
			b.Fatal(err)
		}
		value, err := chromedp.Run(ctx, chromedp.Evaluate[[]byte](interactive, chromedp.EvalAwaitPromise))
		var ms float64
		if err == nil {
			err = json.Unmarshal(value, &ms)
		}
		if err != nil {
			b.Fatal(err)
		}
		times = append(times, ms)
		cancel()
	}
	slices.Sort(times)
	b.ReportMetric(times[len(times)/2], "ms/first-view")
	b.ReportMetric(times[len(times)-1], "ms/slowest")
	b.ReportMetric(0, "ns/op")
}

// testScreenshots compares the screenshots of the manual with the console; with -update it writes them.
func testScreenshots(t *testing.T, s *suite) {
	const directory, largest = "../../edge/docs/images", 100_000
	p := openPage(t, s, s.open.URL(), volumes)
	p.resize(1200, 780)
	shoot := func(name string) {
		t.Helper()
		p.eval("document.activeElement.blur()", nil)
		picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		if len(picture) > largest {
			t.Errorf("%s has %d bytes, want at most %d", name, len(picture), largest)
		}
		if !*update {
			return
		}
		if err := os.MkdirAll(directory, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(directory, name), picture, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p.waitText(".hit", "storage.volume_capacity")
	shoot("console-search.png")
	p.open("#/catalog/skill/storage.volume_capacity?tenant=acme")
	p.waitText(".fields", "Example queries")
	shoot("console-record.png")
	p.open("#/catalog/skill?tenant=acme")
	p.waitText("tbody", "storage.volume_capacity")
	shoot("console-catalog.png")
	p.open("#/package/storage.volume_capacity?tenant=acme")
	p.waitText(".parts", "tpl.acme_capacity")
	shoot("console-package.png")
	file, err := os.ReadFile(examples + "/estate.json")
	if err != nil {
		t.Fatal(err)
	}
	p.open("#/ask")
	p.drop("estate.json", string(file))
	p.ask("how many hosts per site?")
	p.waitText(".question .status", "Done")
	p.eval("scrollTo(0, 0)", nil)
	shoot("console-ask.png")
	p.open("#/runs")
	p.waitText("tbody", "how many hosts per site?")
	shoot("console-runs.png")
	p.eval(`fetch('/tags/write', {method: 'POST', body: JSON.stringify({request_id: 'req-4711', flow: 'capacity review',
		tags: {skill_id: 'storage.volume_capacity', step: 2, warnings: ['erp is slow']}})})`, nil)
	p.open("#/tags/req-4711")
	p.waitText(".fields", "capacity review")
	shoot("console-tags.png")
	p.open("#/usage")
	p.waitText("tbody", "Size of tags")
	shoot("console-usage.png")
	p.open("#/health")
	p.waitText(".tiles", "Requests per second")
	p.wait("document.querySelectorAll('.spark polyline').length >= 5")
	shoot("console-health.png")
}
