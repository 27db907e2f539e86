package browser

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/test/cairntest"
)

// testRestart ends the server in the middle of an answer, and starts it again.
func testRestart(t *testing.T, s *suite) {
	model, data := newModel(t), filepath.Join(t.TempDir(), "data")
	server := cairntest.Up(t, "--data", data, "--model", model.url)
	address := strings.TrimPrefix(server.URL(), "http://")
	p := openPage(t, s, server.URL(), "#/ask")
	p.expectNoConnection()
	p.useEstate(estate)
	p.ask("say: Before the end (forever) of the server.")
	p.waitText(".answer", "Before the end")
	server.Kill()
	p.waitText(".question .status", "The connection was lost. Reconnecting…")
	cairntest.Up(t, "--data", data, "--model", model.url, "--http", address)
	p.expect(404)
	p.waitText(".question .status", "Failed")
	p.waitText(".question [role=alert]", "AN-")
	p.waitText(".answer", "Before the end")
	p.click("Ask again")
	p.waitText(".question .status", "Answering…")
	p.waitText(".answer", "Before the end")
	p.wait("document.querySelectorAll('.question').length === 1")
	p.click("Cancel")
	p.waitText(".question .status", "Canceled")
}

// testExpired asks with a token that has expired, and signs in again.
func testExpired(t *testing.T, s *suite) {
	i := newIssuer(t)
	server := cairntest.Up(t, "--data", "", "--model", "offline:", "--auth", "oidc="+i.URL+",cairn")
	p := openPage(t, s, server.URL(), "#/ask")
	p.signIn(i.token(t, "analyst", time.Now().Add(time.Hour)))
	p.useEstate(estate)
	p.ask("how many hosts?")
	p.waitText(".answer", "3 hosts")
	expire := func() {
		expired := i.token(t, "analyst", time.Now().Add(-time.Hour))
		p.eval(fmt.Sprintf("sessionStorage.setItem('cairn.credential', %s)", quoted(expired)), nil)
	}
	expire()
	p.ask("how many hosts per site?")
	p.waitText("#credential-error", "no longer accepted")
	p.wait("!document.body.innerText.includes('3 hosts')")
	p.signIn(i.token(t, "analyst", time.Now().Add(2*time.Hour)))
	p.waitText(".answer", "3 hosts by site")
	p.wait("document.querySelectorAll('.question').length === 2 && document.title === 'Ask · Cairn'")

	// A text that was typed remains, and a list that was refused is read again.
	p.fill("#query", "half a question")
	expire()
	p.eval("document.querySelector('.estate .badge').click()", nil)
	p.waitText("#credential-error", "no longer accepted")
	p.signIn(i.token(t, "analyst", time.Now().Add(3*time.Hour)))
	p.waitText("dialog", "site", "text")
	p.click("Close")
	p.wait("document.querySelector('#query').value === 'half a question'")

	// Another caller sees nothing of it.
	expire()
	p.open("#/runs")
	p.waitText("#credential-error", "no longer accepted")
	p.signIn(i.token(t, "registrar", time.Now().Add(time.Hour)))
	p.waitText(".session", "registrar")
	p.open("#/ask")
	p.waitText(".notice", "does not permit analyses")
	p.wait("!document.querySelector('.question, .estate .badge') && sessionStorage.length === 2")
}

// testLargeEstate reads estates near the limit of a request.
func testLargeEstate(t *testing.T, s *suite) {
	p := openPage(t, s, s.open.URL(), "#/ask")
	p.wait("document.querySelector('.drop')")
	drop := func(records int, record string) {
		p.eval(fmt.Sprintf(`(() => {
			const data = new DataTransfer();
			data.items.add(new File([JSON.stringify({hosts: Array.from({length: %d}, (_, i) => (%s))})], 'large.json'));
			document.querySelector('.drop').dispatchEvent(
				new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));
		})()`, records, record), nil)
	}
	drop(10_000, "{name: 'host ' + i, a: 1, note: 'x'.repeat(950)}") // 10 MB
	p.waitText(".estate .badge", "hosts 10,000")
	p.ask("how many hosts?")
	p.waitText(".answer", "10000 hosts")
	p.eval("location.reload()", nil)
	p.waitText(".answer", "10000 hosts")
	p.wait("document.querySelector('.drop') && document.querySelector('#query').disabled") // the tab did not store it
	drop(300_000, "{name: 'host ' + i, a: 'b'}")
	p.waitText("#estate-error", "An estate has at most 10 MiB as a JSON string; this has")
}

// testLongNames shows names of 256 characters, texts from right to left, and a record of 200 fields, on a phone.
func testLongNames(t *testing.T, s *suite) {
	p := openPage(t, s, s.open.URL(), "#/search?tenant=long")
	p.wait("document.querySelector('form.search')")
	long := func(prefix string) string { return prefix + strings.Repeat("x", 256-len(prefix)) }
	rtl := strings.Repeat("שלום עולם ", 25)
	skill := map[string]any{"display_name": long("Capacity "), "purpose": rtl, "description": rtl, "domain": "long",
		"output_type": rtl, "example_queries": []string{long("")}, "instructions": "# " + rtl + "\n\n" + long(""),
		"labels": map[string]string{"team": long("")[:64]}, "tool_ids": []string{long("long.a.")}, "license": long("")}
	for n := range 200 {
		skill[fmt.Sprintf("field_%03d", n)] = long("")
	}
	store := func(kind, id string, record map[string]any) {
		if refused := p.tryPutOf("long", kind, id, record); refused != "" {
			t.Fatalf("store a %s: %s", kind, refused)
		}
	}
	id := long("long.skill.")
	store("tool", long("long.a."), map[string]any{"display_name": rtl, "description": long("")})
	store("skill", id, skill)
	p.eval(fmt.Sprintf(`fetch('/tags/write', {method: 'POST', body: JSON.stringify({
		tenant_id: 'long', request_id: %[1]s, flow: %[1]s, tags: {a: %[2]s}})})`, quoted(long("")), quoted(rtl)), nil)
	narrow := func(name, selector string) {
		t.Helper()
		p.wait(fmt.Sprintf("document.querySelector(%s) && !document.querySelector('.loading')", quoted(selector)))
		p.fitsPhone(name)
	}
	p.resize(390, 844)
	record := "#/catalog/skill/" + id
	for _, view := range [][2]string{
		{"#/catalog/all?tenant=long&scope=tenant", "tbody tr"},
		{record + "?tenant=long", ".fields"},
		{record + "?tenant=long&tab=json", ".json"},
		{record + "?tenant=long&tab=history", "tbody tr"},
		{record + "/edit?tenant=long", "form.record"},
		{"#/package?tenant=long", ".cards"},
		{"#/package/" + id + "?tenant=long", ".parts"},
		{"#/search?tenant=long&q=capacity+xxx", ".hit"},
		{"#/tags?tenant=long", "tbody tr"},
		{"#/tags/" + long("") + "?tenant=long", ".fields"},
		{"#/audit?tenant=long", "tbody tr"},
		{"#/usage?tenant=" + long(""), "tbody tr"},
	} {
		p.open(view[0])
		narrow(view[0], view[1])
	}
	p.open(record + "?tenant=long")
	p.wait("document.querySelectorAll('.fields > div').length > 200")
	p.wait("getComputedStyle(document.querySelector('.fields dd')).unicodeBidi === 'plaintext'")
	p.open("#/ask")
	p.useEstate(fmt.Sprintf(`{%[1]s: [{"name": %[1]s, "site": %[2]s}, {"name": %[2]s, "site": %[1]s}]}`,
		quoted(long("")), quoted(rtl)))
	p.ask(fmt.Sprintf("how many %s per site?", long("")))
	p.waitText(".question .status", "Done")
	narrow("an answer", ".figures tbody tr")
	p.open("#/runs")
	narrow("the runs", "tbody tr")
}

// testNoDeadLinks follows every link that a reader sees.
func testNoDeadLinks(t *testing.T, s *suite) {
	p := openPage(t, s, s.keyed.URL(), "#/search")
	p.signIn(s.key(t, "reader", "--tenant", "acme"))
	p.wait("document.querySelector('form.search')")
	p.wait("document.querySelectorAll('#navigation a[aria-disabled]:not([href])').length === 3")
	visited := map[string]bool{}
	next := []string{"#/search", strings.TrimSuffix(volumes, "&tenant=acme"), "#/catalog/all",
		"#/catalog/skill/storage.volume_capacity", "#/package/storage.volume_capacity"}
	for range 2 {
		var links []string
		for _, fragment := range next {
			if visited[fragment] {
				continue
			}
			visited[fragment] = true
			p.open(fragment)
			p.wait(fmt.Sprintf("location.hash === %s && document.querySelector('h1')", quoted(fragment)))
			p.wait("!document.querySelector('.loading')")
			p.wait("document.querySelector('.hit, .fields, .json, tbody, .parts, .cards, .empty, .badge, form')")
			if text := p.text("[role=alert], .notice"); text != "" || p.text("h1") == "Not found" {
				t.Errorf("the link %s shows: %s", fragment, text)
			}
			var hrefs []string
			p.eval("[...document.querySelectorAll('a[href^=\"#/\"]')].map(a => a.getAttribute('href'))", &hrefs)
			links = append(links, hrefs...)
		}
		next = slices.Compact(slices.Sorted(slices.Values(links)))
	}
	if len(visited) < 30 {
		t.Errorf("visited %d links only", len(visited))
	}
}
