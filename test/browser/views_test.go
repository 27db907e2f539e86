package browser

import (
	"fmt"
	"strings"
	"testing"
)

const volumes = "#/search?q=which+volumes+are+nearly+full%3F&tenant=acme"

func testSearch(t *testing.T, s *suite) {
	p := openPage(t, s, s.open.URL(), "")
	p.waitText("h1", "Search")
	p.wait("document.activeElement.id === 'query'")
	p.press("which volumes are nearly full?\r")
	p.waitText(".hit", "storage.volume_capacity", "Relevance", "rank 1", "global")
	p.waitText("[role=status]", " in ")
	p.fill("#tenant", "acme")
	p.eval("document.querySelector('.tenant-picker').requestSubmit()", nil)
	p.waitText(".hit", "Volume capacity at Acme", "acme")
	p.wait("location.hash.includes('tenant=acme') && location.hash.includes('q=which')")
	p.fill("#tenant", "acmee")
	p.eval("document.querySelector('.tenant-picker').requestSubmit()", nil)
	p.waitText(".tenant-picker", "No records of this tenant")
	p.fill("#tenant", "global")
	p.eval("document.querySelector('.tenant-picker').requestSubmit()", nil)
	p.wait("document.querySelector('#tenant').value === '' && !location.hash.includes('tenant=')")
	p.open(volumes)
	p.waitText(".hit", "Volume capacity at Acme")
	p.wait("!document.querySelector('.tenant-picker .hint')")

	p.fill("#scope", "agents")
	p.wait("location.hash.includes('scope=agents')")
	p.click("Filters")
	p.fill("#domain", "billing")
	p.fill("#query", "what does the web shop cost per month?")
	p.click("Search")
	p.waitText(".hit", "Cost allocation")
	p.wait("document.querySelectorAll('.hit').length === 1")
	p.fill("#query", "zzzz qqqq")
	p.click("Search")
	p.expect(404)
	p.waitText(".empty", "matches the query")

	p.eval("history.go(-1)", nil)
	p.waitText(".hit", "Cost allocation")
}

func testAgentSearch(t *testing.T, s *suite) {
	p := openPage(t, s, s.open.URL(), volumes+"&kind=agent")
	p.waitText(".hit", "ops.storage_agent", "skill_ids", "storage.snapshot_audit")
	p.fill("#kind", "skill")
	p.waitText(".hit", "storage.volume_capacity")
}

// testRecordSearch searches tools, guardrails and templates, which have no scope of agents.
func testRecordSearch(t *testing.T, s *suite) {
	p := openPage(t, s, s.open.URL(), "#/search?q=report+volumes+to+delete&tenant=acme&kind=guardrail")
	p.waitText(".hit", "guard.no_deletion", "rank 1", "global")
	p.wait("!document.querySelector('#scope')")
	p.fill("#kind", "template")
	p.waitText(".hit", "tpl.capacity_report")
	p.fill("#kind", "tool")
	p.waitText(".hit", "arraydb.volumes.list")
	p.wait("location.hash.includes('kind=tool')")
	p.fill("#query", "zzzz qqqq")
	p.click("Search")
	p.waitText(".empty", "No active tool matches the query")
}

func testCatalog(t *testing.T, s *suite) {
	p := openPage(t, s, s.open.URL(), "#/catalog/tool?tenant=acme")
	p.waitText("tbody", "erp.costs.list", "erp.owners.list")
	p.fill("#scope", "global")
	p.waitText("tbody", "arraydb.volumes.list")
	p.fill("#prefix", "wiki.")
	p.click("Apply")
	p.wait("document.querySelectorAll('tbody tr').length === 1")
	p.waitText("tbody", "wiki.pages.search")
	p.fill("#query", "search pages of the wiki")
	p.click("Apply")
	p.waitText("tbody tr:first-child", "wiki.pages.search")
	p.wait("document.querySelector('#prefix').disabled && document.querySelector('#prefix').value === ''")
	p.wait("location.hash.includes('q=search')")
	p.click("Guardrails")
	p.fill("#query", "data residency")
	p.click("Apply")
	p.waitText("tbody tr:first-child", "guard.acme_residency")
	p.click("guard.acme_residency")
	p.waitText("h1", "guard.acme_residency")

	admin := openPage(t, s, s.keyed.URL(), "#/catalog/template?tenant=paging")
	admin.signIn(s.admin)
	admin.waitText(".table-wrap", "tpl.")
	admin.eval("document.querySelector('#tenant').dispatchEvent(new Event('focus'))", nil)
	admin.wait("[...document.querySelectorAll('#tenants option')].some(e => e.value === 'acme' && e.innerText.includes('record'))")
	for n := range 51 { // a page and one more
		admin.eval(fmt.Sprintf(`fetch('/records/template/page.%03d?tenant_id=paging', {method: 'PUT', body: '{}',
			headers: {Authorization: 'Bearer ' + sessionStorage.getItem('cairn.credential')}})`, n), nil)
	}
	admin.open("#/catalog/template?tenant=paging&prefix=page.")
	admin.waitText("tbody", "page.049")
	admin.click("Next page")
	admin.waitText("tbody", "page.050")
	admin.wait("document.querySelectorAll('tbody tr').length === 1")
	admin.click("First page")
	admin.waitText("tbody", "page.000")
}

func testCatalogOrder(t *testing.T, s *suite) {
	p := openPage(t, s, s.open.URL(), "#/catalog/tool?tenant=ordered")
	for id, record := range map[string]string{"tool/b.one.tool": `{"domain": "b", "labels": {"team": "network", "tier": "gold"}}`,
		"tool/a.two.tool": `{"domain": "a", "labels": {"team": "network"}}`, "skill/c.skill": `{"domain": "c"}`} {
		p.store(id, "ordered", record)
	}
	p.click("Catalog")
	p.click("Tools")
	p.waitText("tbody tr:first-child", "a.two.tool")
	p.click("Id")
	p.waitText("tbody tr:first-child", "b.one.tool")
	p.click("Domain")
	p.waitText("tbody tr:first-child", "a.two.tool")
	p.wait("document.querySelector('th[aria-sort=ascending]').innerText.startsWith('Domain')")
	p.click("Domain")
	p.waitText("tbody tr:first-child", "b.one.tool")
	p.wait("location.hash.includes('sort=domain') && location.hash.includes('descending=true')")
	p.store("tool/a.two.tool", "ordered", `{"domain": "a", "labels": {"team": "network"}, "tool_class": "x"}`)
	p.click("Changed")
	p.waitText("tbody tr:first-child", "a.two.tool")
	p.click("All")
	p.waitText("tbody", "c.skill", "b.one.tool", "a.two.tool")
	p.fill("#scope", "tenant")
	p.wait("document.querySelectorAll('tbody tr').length === 3")
	p.click("Kind")
	p.waitText("tbody tr:first-child", "Skill", "c.skill")
	p.click("team=network")
	p.wait("document.querySelectorAll('tbody tr').length === 2 && document.querySelector('#labels').value === 'team=network'")
	p.click("tier=gold")
	p.wait("document.querySelectorAll('tbody tr').length === 1 && location.hash.includes('sort=kind')")
	p.waitText("tbody", "b.one.tool")
}

// store registers a record, KIND/ID, and waits until lists have it.
func (p *page) store(name, tenant, record string) {
	p.t.Helper()
	p.eval(fmt.Sprintf(`fetch('/records/%[1]s?tenant_id=%[2]s', {method: 'PUT', body: %[3]s}).then(r => fetch(
		'/records/tool?tenant_id=%[2]s', {headers: {'Cairn-Min-Revision': r.headers.get('Cairn-Revision')}})).then(r => r.text())`,
		name, tenant, quoted(record)), nil)
}

// testReferenced deletes a record to which another one links.
func testReferenced(t *testing.T, s *suite) {
	p := openPage(t, s, s.open.URL(), "#/catalog/tool/linked.x.tool?tenant=linked")
	p.expect(404)
	for id, record := range map[string]string{"tool/linked.x.tool": "{}", "skill/linked.skill": `{"tool_ids": ["linked.x.tool"]}`} {
		p.store(id, "linked", record)
	}
	p.eval("location.reload()", nil)
	p.click("Delete")
	remove := func() { p.eval("document.querySelector('dialog .danger').click()", nil) }
	p.wait("document.querySelector('dialog[open]')")
	remove()
	p.expect(409)
	p.waitText("dialog", "1 record links to it", "Skill linked.skill", "tool_ids")
	p.wait("document.querySelector('dialog .danger').disabled")
	p.eval("document.querySelector('#force').click()", nil)
	p.wait("!document.querySelector('dialog .danger').disabled")
	remove()
	p.waitText("h1", "Catalog")
	p.open("#/catalog/skill/linked.skill?tenant=linked")
	p.waitText(".fields", "linked.x.tool")
}

func testRecord(t *testing.T, s *suite) {
	p := openPage(t, s, s.open.URL(), "#/catalog/skill/storage.volume_capacity?tenant=acme")
	p.waitText("h1", "Volume capacity at Acme")
	p.waitText(".fields", "Example queries", "which volumes are nearly full?", "ctx.volumes")
	p.wait("document.title === 'Volume capacity at Acme · Cairn'")
	p.waitText(".usage", "Resolved", "found")
	p.click("JSON")
	p.waitText(".json", `"tenant_id": "acme"`)
	p.click("Fields")
	p.click("ctx.volumes")
	p.waitText(".fields", "arraydb.volumes.history")
	p.waitText(".referrers", "Used by", "storage.volume_capacity", "context_builder_ids")
	p.wait("document.activeElement.id === 'title'")
	p.open("#/catalog/tool/wiki.pages.search/edit?tenant=acme")
	p.waitText("form.record .notice.warn", "every tenant sees the change")
	p.open("#/catalog/skill/no.such?tenant=acme")
	p.waitText("[role=alert]", "record not found", "CE-081")
	p.expect(404)
	p.open("#/nothing")
	p.waitText("h1", "Not found")
}

func testForm(t *testing.T, s *suite) {
	p := openPage(t, s, s.open.URL(), "#/register/tool?tenant=forms")
	p.fill("#field-tool_id", "web.console.made")
	p.fill("#field-description", "made by <b>hand</b>")
	p.fill("#field-capabilities", "one\ntwo")
	p.fill("#field-labels", "team=network\ntier=gold")
	p.eval("document.querySelector('#field-public').click()", nil)
	p.fill("#field-other", `{"vendor_field": {"kept": [1, 2]}}`)
	p.click("Register")
	p.waitText("[role=status]", "record.public")
	p.click("Show the record")
	p.waitText(".fields", "made by <b>hand</b>", "team=network", "Vendor field", "Public")
	p.waitText(".badge", "forms")

	p.click("Edit")
	p.waitText("h1", "Edit web.console.made")
	p.wait("document.querySelector('#field-public').checked && document.querySelector('#field-public').closest('details').open")
	p.wait(`document.querySelector('#field-capabilities').value === 'one\ntwo' && document.querySelector('#field-other').value.includes('kept')`)
	p.fill("#field-description", "edited")
	p.fill("#field-status", "deprecated")
	p.fill("#field-replaced_by", "web.console.next")
	p.click("Save")
	p.waitText("[role=status]", "Stored", "warning")
	p.waitText("[role=status]", "record.replaced_by")
	p.click("Show the record")
	p.waitText(".fields", "edited")
	p.waitText(".badge", "deprecated")

	p.click("Delete")
	p.waitText("dialog", "Delete this record?", "forms")
	p.eval("document.querySelector('dialog .danger').click()", nil)
	p.waitText(".acknowledgement", "Deleted")
	p.waitText("h1", "Catalog")
	p.open("#/catalog/tool/web.console.made?tenant=forms")
	p.waitText("[role=alert]", "record not found")
	p.expect(404)
}

func testHistory(t *testing.T, s *suite) {
	p := openPage(t, s, s.open.URL(), "#/register/template?tenant=history")
	p.fill("#field-template_id", "tpl.history")
	p.fill("#field-description", "one\ntwo <b>bold</b>")
	p.fill("#field-body", "text")
	p.fill("#field-domain", "network")
	p.click("Register")
	p.waitText(".fields", "bold")
	p.click("Edit")
	p.wait("document.querySelector('#field-domain').value === 'network'")
	p.fill("#field-description", "one\nthree")
	p.fill("#field-domain", "")
	p.fill("#message", "für three")
	p.click("Save")
	p.waitText(".acknowledgement", "Saved")
	p.waitText(".fields", "three")
	p.open("#/catalog/template/tpl.history?tenant=history&tab=history")
	p.waitText(".diff .old", "two <b>bold</b>", "network")
	p.waitText(".diff .new", "three")
	p.waitText(".diff", "description", "changed", "removed")
	p.waitText("[aria-label=Revisions] tbody", "für three")
	p.wait("document.querySelectorAll('tbody tr').length === 2")
	p.harmless("the difference")

	p.wait("[...document.querySelectorAll('a')].some(a => a.innerText.startsWith('Edit from revision'))")
	p.eval("[...document.querySelectorAll('a')].find(a => a.innerText.startsWith('Edit from revision')).click()", nil)
	p.wait("document.querySelector('#field-domain').value === 'network'")
	p.click("Save")
	p.waitText(".fields", "bold")

	p.open("#/catalog/template/tpl.history?tenant=history&tab=history")
	p.wait("document.querySelectorAll('tbody tr').length === 3")
	p.eval(`fetch('/records/template/tpl.history/aliases/production?tenant_id=history', {method: 'PUT', body: '{}'})`, nil)
	p.eval("location.reload()", nil)
	p.waitText("tbody tr:first-child .badge", "@production")
	p.wait("document.querySelectorAll('tbody tr').length === 3 && document.querySelectorAll('tbody button').length === 2")
	p.eval("document.querySelector('tbody button').click()", nil)
	p.waitText("dialog", "Roll back to revision", "2 fields differ")
	p.waitText("dialog .diff .new", "three")
	p.eval("document.querySelector('dialog .primary').click()", nil)
	p.wait("!document.querySelector('dialog') && document.querySelectorAll('tbody tr').length === 4")
	p.waitText("tbody tr:first-child", "Roll back to revision")
	p.waitText("tbody tr:nth-child(2) .badge", "@production")
	p.waitText(".diff .new", "three")

	p.click("Delete")
	p.eval("document.querySelector('dialog .danger').click()", nil)
	p.waitText("h1", "Catalog")
	p.open("#/catalog/template/tpl.history?tenant=history")
	p.expect(404)
	p.click("History of a deleted record")
	p.waitText("tbody", "deleted")
	p.waitText(".diff", "removed")
}

// testSkillForm registers a skill with a file, and a tool that the form has found.
func testSkillForm(t *testing.T, s *suite) {
	p := openPage(t, s, s.open.URL(), "#/register/skill?tenant=acme")
	p.fill("#field-skill_id", "files.made")
	p.fill("#field-tool_ids", "")
	p.eval("(() => { const e = document.querySelector('#field-tool_ids'); e.value = 'arraydb'; e.dispatchEvent(new Event('input', {bubbles: true})); })()", nil)
	p.wait("[...document.querySelectorAll('#field-tool_ids-list option')].some(e => e.value === 'arraydb.volumes.history')")
	p.fill("#field-tool_ids", "arraydb.volumes.history")
	p.fill("#field-tool_ids", "no.such.tool")
	p.waitText(".ids .badge", "no.such.tool")
	p.eval("document.querySelector('[aria-label=\"Remove no.such.tool\"]').click()", nil)
	p.wait("document.querySelectorAll('.ids .badge').length === 1")
	p.eval(`(() => { const data = new DataTransfer();
		data.items.add(new File(['echo <b>hello</b>'], 'run.sh'));
		data.items.add(new File([new Uint8Array([255, 0, 1])], 'image.bin'));
		const input = document.querySelector('#field-resources');
		input.files = data.files;
		input.dispatchEvent(new Event('change', {bubbles: true})); })()`, nil)
	p.waitText(".ids", "run.sh", "image.bin")
	p.click("Register")
	p.waitText(".fields", "arraydb.volumes.history")
	p.waitText(".resource", "run.sh", "image.bin")
	p.eval("document.querySelectorAll('.resource').forEach(e => { e.open = true; })", nil)
	p.waitText(".resource pre", "echo <b>hello</b>")
}

func testFormErrors(t *testing.T, s *suite) {
	p := openPage(t, s, s.open.URL(), "#/register/skill?tenant=forms")
	p.click("Register")
	p.waitText("#field-skill_id-error", "required")
	p.fill("#field-skill_id", "single")
	p.fill("#field-version", "1")
	p.fill("#field-labels", "no value")
	p.click("Register")
	p.waitText("#field-skill_id-error", "expected form")
	p.waitText("#field-version-error", "expected form")
	p.waitText("#field-labels-error", "name=value")
	p.wait("document.querySelector('#field-version').getAttribute('aria-invalid') === 'true'")
	p.wait("document.querySelector('#field-version').getAttribute('aria-describedby').includes('field-version-error')")

	// The rules of the server that are not in its schemas.
	p.fill("#field-skill_id", "network.find")
	p.fill("#field-version", "1.0.0")
	p.fill("#field-labels", "")
	p.fill("#field-domain", "storage")
	p.fill("#field-tool_ids", "no.such.tool")
	p.waitText(".ids .badge", "no.such.tool")
	p.eval("document.querySelector('.check input').click()", nil) // strict
	p.click("Register")
	p.waitText("#field-domain-error", "network")
	p.expect(400)
	p.fill("#field-domain", "")
	p.click("Register")
	p.waitText("#field-tool_ids-error", "no.such.tool")
	p.expect(400)
}

func testConflict(t *testing.T, s *suite) {
	p := openPage(t, s, s.open.URL(), "#/register/guardrail?tenant=conflict")
	p.fill("#field-guardrail_id", "guard.raced")
	p.fill("#field-description", "first")
	p.click("Register")
	p.waitText(".fields", "first")
	p.open("#/register/guardrail?tenant=conflict")
	p.fill("#field-guardrail_id", "guard.raced")
	p.click("Register")
	p.waitText("[role=alert]", "exists already")
	p.expect(412)

	p.open("#/catalog/guardrail/guard.raced/edit?tenant=conflict")
	p.wait("document.querySelector('#field-description')?.value === 'first'")
	other := openPage(t, s, s.open.URL(), "#/catalog/guardrail/guard.raced/edit?tenant=conflict")
	other.fill("#field-description", "second")
	other.click("Save")
	other.waitText(".fields", "second")
	p.fill("#field-description", "third")
	p.click("Save")
	p.waitText("[role=alert]", "Another writer has changed this record")
	p.expect(412)
}

func testPackage(t *testing.T, s *suite) {
	p := openPage(t, s, s.open.URL(), "#/package?tenant=acme")
	p.waitText(".cards", "storage.volume_capacity")
	p.fill("#skill", "storage.volume_capacity")
	p.click("Show")
	p.waitText("h1", "Volume capacity at Acme")
	p.wait("document.querySelectorAll('.graph .node').length === 12 && document.querySelectorAll('.graph .node.tenant').length === 5")
	p.wait("document.querySelectorAll('.graph .edge').length === 11 && document.querySelectorAll('.graph .edge.rule').length === 4")
	p.waitText(".parts", "wiki.pages.search", "builds_domain", "guards_all")
	p.eval("[...document.querySelectorAll('.graph .node')].find(n => n.textContent.includes('guard.no_secrets')).focus()",
		nil)
	p.press("\r")
	p.waitText("h1", "guard.no_secrets")
	p.open("#/package/no.such?tenant=acme")
	p.waitText("[role=alert]", "skill not found")
	p.expect(404)
}

func testTags(t *testing.T, s *suite) {
	p := openPage(t, s, s.keyed.URL(), "#/tags/web%2Fconsole%20%3F1")
	p.signIn(s.key(t, "registrar", "--tenant", "tags"))
	p.waitText(".empty", "No tag has the id", "web/console ?1")
	p.expect(404)
	p.eval("document.querySelector('details').open = true", nil)
	p.fill("#write-flow", "triage")
	p.fill("#write-tags", "{")
	p.click("Write")
	p.waitText("#write-tags-error", "not JSON")
	p.fill("#write-tags", `{"phase": "<b>start</b>"}`)
	p.click("Write")
	p.waitText(".fields", "web/console ?1", "triage", `"<b>start</b>"`)
	p.eval("document.querySelector('details').open = true", nil)
	p.fill("#write-tags", "{}")
	p.click("Write")
	p.waitText("[role=alert]", "CE-021")
	p.expect(409)
	other := openPage(t, s, s.keyed.URL(), "#/tags/web%2Fconsole%20%3F1")
	other.signIn(s.key(t, "reader", "--tenant", "acme"))
	other.waitText(".empty", "No tag has the id")
	other.expect(404)
	p.eval(`window.timers = new Set(); const [start, stop] = [setInterval, clearInterval];
		window.setInterval = (...a) => { const id = start(...a); timers.add(id); return id; };
		window.clearInterval = (id) => { timers.delete(id); stop(id); }; null`, nil)
	p.open("#/tags")
	p.waitText("[aria-label='Stored tags']", "web/console ?1", "bytes")
	p.wait("/^\\d+ (h|min|s)/.test(document.querySelector('.remaining').innerText)")
	before := p.text(".remaining")
	p.wait(fmt.Sprintf("document.querySelector('.remaining').innerText !== %s && timers.size === 1", quoted(before)))
	other.open("#/tags")
	other.waitText(".empty", "No request has a tag")

	reader := openPage(t, s, s.keyed.URL(), "#/tags")
	reader.signIn(s.key(t, "reader", "--tenant", "tags"))
	reader.waitText("[aria-label='Stored tags']", "web/console ?1")
	reader.wait("![...document.querySelectorAll('main button')].some(b => b.innerText === 'Delete')")

	p.open("#/tags/web%2Fconsole%20%3F1")
	p.waitText(".fields", "triage")
	p.wait("timers.size === 0")
	p.click("All tags")
	p.click("Refresh")
	p.click("Delete")
	p.waitText("dialog", "Delete this tag?", "web/console ?1")
	p.eval("document.querySelector('dialog .danger').click()", nil)
	p.waitText(".empty", "No request has a tag")
	p.open("#/tags/web%2Fconsole%20%3F1")
	p.waitText(".empty", "No tag has the id")
}

func testRuns(t *testing.T, s *suite) {
	analyst := s.key(t, "analyst", "--tenant", "runs")
	p := openPage(t, s, s.keyed.URL(), "#/ask")
	p.signIn(analyst)
	p.useEstate(estate)
	p.ask("say: Still working (forever) on it.")
	p.waitText(".answer", "Still working")
	p.wait("document.querySelector('.question-foot code')")
	run := p.text(".question-foot code")

	q := openPage(t, s, s.keyed.URL(), "#/runs")
	q.signIn(analyst)
	q.waitText(".empty", "No analysis")
	q.waitText(".stored", run, "Running", "calls of tools only, such as an estate read")
	q.wait("!document.querySelector('.stored').innerText.includes('NaN')")
	q.fill("#run", run)
	q.click("Follow")
	q.waitText(".call", "compute_stats")
	q.waitText(".answer", "Still working")
	q.waitText(".own", run, "Running")

	other := openPage(t, s, s.keyed.URL(), "#/runs/"+run)
	other.signIn(s.key(t, "analyst", "--tenant", "runs2"))
	other.waitText("[role=alert]", "AN-404")
	other.expect(404)
	other.waitText("main", "No analysis runs, and none is stored", "No analysis was started or followed in this tab")

	r := openPage(t, s, s.keyed.URL(), "#/search")
	r.signIn(analyst)
	r.wait("document.querySelector('form.search')")
	r.eval("const now = Date.now; Date.now = () => now() + 200_000; location.hash = '#/runs'", nil)
	r.waitText(".stored tr", "The answer is no longer retained.")
	r.wait(fmt.Sprintf("document.querySelectorAll('.stored a').length === 1 && document.querySelector('.stored a').innerText === %s", quoted(run)))

	q.click("Cancel")
	q.waitText(".question .status", "Canceled")
	q.waitText(".stored", run, "Canceled")
	q.fill("#state", "failed")
	q.waitText(".empty", "No run matches the filters.")
	q.wait("location.hash.includes('state=failed')")
	q.fill("#state", "canceled")
	q.waitText(".stored", run, "Canceled")
	p.waitText(".question .status", "Canceled")
	p.open("#/runs")
	p.waitText(".own", "say: Still working")

	p.open("#/ask")
	p.ask("say: Still (forever) working.")
	p.waitText(".answer", "Still")
	p.open("#/runs") // lists a run within half a second
	p.wait(`[...document.querySelectorAll(".stored")].some(e => e.innerText.includes("Running")) ||
		void [...document.querySelectorAll("button")].find(b => b.innerText == "Refresh")?.click()`)
	p.waitText(".stored", "Running", "say: Still (forever)")
	p.click("Cancel")
	p.wait("!document.querySelector('.stored').innerText.includes('Running')")
}

func testAudit(t *testing.T, s *suite) {
	p := openPage(t, s, s.keyed.URL(), "#/audit")
	p.signIn(s.key(t, "registrar", "--tenant", "audit"))
	p.waitText("tbody", "create_key")
	p.eval(`fetch('/records/template/audit.one', {method: 'PUT', body: '{}', headers: {'Cairn-Message': 'a first one',
		Authorization: 'Bearer ' + sessionStorage.getItem('cairn.credential')}})`, nil)
	p.fill("#action", "register")
	p.click("Apply")
	p.waitText("tbody", "template/audit.one", "a first one", "register")
	p.wait("document.querySelectorAll('tbody tr').length === 1")
	actor := p.text("tbody code")
	p.open("#/catalog/template/audit.one?tab=history")
	p.waitText("[aria-label=Revisions] tbody", "a first one", actor)
}

func testUsage(t *testing.T, s *suite) {
	registrar := s.key(t, "registrar", "--tenant", "usage")
	p := openPage(t, s, s.keyed.URL(), "#/usage")
	p.signIn(registrar)
	p.waitText("main", "the tenant usage", "Size of records", "4 GiB", "1,000,000")
	p.wait("[...document.querySelectorAll('tbody tr')].every(r => /^0( bytes)?$/.test(r.cells[1].innerText))")
	store := func(path, method, body string) {
		p.eval(fmt.Sprintf(`fetch(%s, {method: %s, body: %s, headers: {Authorization: 'Bearer ' + sessionStorage.getItem('cairn.credential')}})`,
			quoted(path), quoted(method), quoted(body)), nil)
	}
	store("/records/template/usage.one", "PUT", "{}")
	store("/tags/write", "POST", `{"request_id":"usage","flow":"f","tags":{}}`)
	p.open("#/tags")
	p.open("#/usage")
	p.wait("document.querySelectorAll('tbody tr')[0].cells[1].innerText === '1' && document.querySelectorAll('tbody tr')[2].cells[1].innerText === '1'")
	p.wait("/bytes$/.test(document.querySelectorAll('tbody tr')[1].cells[1].innerText)")

	other := openPage(t, s, s.keyed.URL(), "#/usage?tenant=usage")
	other.signIn(s.key(t, "reader", "--tenant", "acme"))
	other.waitText("[role=alert]", "CE-007")
	other.expect(403)
	other.open("#/usage")
	other.waitText("main", "the tenant acme", "Size of records")
}

func testHealth(t *testing.T, s *suite) {
	p := openPage(t, s, s.open.URL(), "#/health")
	p.waitText("table", "resolve", "embed static:")
	p.waitText(".tiles", "Requests per second", "Memory")
	p.waitText("table", "GET /metrics")
	p.wait("document.querySelectorAll('.spark polyline').length >= 5") // a second sample

	p.eval("window.send = fetch; window.fetch = () => Promise.reject(new TypeError('gone')); null", nil)
	p.waitText("[role=status]", "unreachable")
	p.waitText("main", "Last contact")
	p.wait("[...document.querySelectorAll('table:first-of-type tbody tr td:nth-child(2) .badge')].every(e => e.innerText === 'unknown' && e.classList.contains('bad'))")
	p.open("#/usage")
	p.waitText("[role=alert]", "no connection", "Try again")
	p.open("#/health")
	p.waitText("[role=status]", "unreachable")
	p.open("#/usage")
	p.waitText("[role=alert]", "no connection")
	p.eval("window.fetch = window.send; null", nil)
	p.waitText("tbody", "Size of tags")

	reader := openPage(t, s, s.keyed.URL(), "#/health")
	reader.signIn(s.key(t, "admin", "--tenant", "acme"))
	reader.waitText("main", "Details are for credentials for all tenants", "Traffic and latency are for the role admin")
	reader.wait("!document.querySelector('.tiles')")
}

func testWrongKey(t *testing.T, s *suite) {
	p := openPage(t, s, s.keyed.URL(), volumes)
	p.waitText("h1", "Sign in")
	p.signIn("cairn_wrong")
	p.waitText("#credential-error", "not valid")
	p.wait("sessionStorage.length === 0")
	p.signIn(s.admin)
	p.waitText(".hit", "storage.volume_capacity") // the deep link is followed
	p.eval("location.reload()", nil)
	p.waitText(".hit", "storage.volume_capacity")

	revoked := s.key(t, "reader", "--tenant", "acme")
	q := openPage(t, s, s.keyed.URL(), "#/catalog/skill")
	q.waitText("h1", "Sign in")
	q.signIn(revoked)
	q.waitText("tbody", "storage.volume_capacity")
	s.revoke(t, revoked)
	for q.count("#credential") == 0 { // every edge refuses it within a second
		q.open(fmt.Sprintf("#/catalog/skill?domain=%d", q.count("*")))
		q.open("#/catalog/skill")
	}
	q.waitText("h1", "Sign in")

	p.click("Sign out")
	p.waitText("h1", "Sign in")
	p.wait("sessionStorage.length === 0")
	p.wait("!document.body.innerText.includes('storage.volume_capacity')")
}

func testRoles(t *testing.T, s *suite) {
	reader := openPage(t, s, s.keyed.URL(), "#/catalog/skill/storage.volume_capacity")
	reader.signIn(s.key(t, "reader", "--tenant", "acme"))
	reader.waitText(".session", "reader", "acme")
	reader.waitText(".actions", "Edit")
	reader.wait("[...document.querySelectorAll('.actions button')].every(b => b.disabled && b.title)")
	reader.wait("document.querySelector('.actions').innerText.includes('Copy') === false")
	reader.open("#/register/skill")
	reader.waitText(".notice", "does not permit")
	reader.wait("!document.querySelector('form.record')")
	reader.open("#/ask")
	reader.waitText(".notice", "does not permit analyses")
	reader.wait("document.querySelector('#query').disabled && document.querySelector('#estate').disabled")

	registrar := openPage(t, s, s.keyed.URL(), "#/catalog/skill/storage.volume_capacity?scope=global")
	registrar.signIn(s.key(t, "registrar", "--tenant", "acme"))
	registrar.waitText(".badge", "global")
	registrar.wait("document.querySelector('.actions button').disabled") // a global record
	registrar.click("Copy")
	registrar.waitText("form.record", "For the tenant acme")
	registrar.open("#/catalog/skill/storage.volume_capacity")
	registrar.waitText(".badge", "acme")
	registrar.click("Edit")
	registrar.waitText("h1", "Edit storage.volume_capacity")
}

func testTenants(t *testing.T, s *suite) {
	p := openPage(t, s, s.keyed.URL(), "#/catalog/skill/storage.volume_capacity")
	p.signIn(s.key(t, "registrar", "--tenant", "globex"))
	p.waitText(".session", "globex")
	p.waitText(".badge", "global")
	for _, fragment := range []string{
		"#/catalog/skill/billing.cost_allocation", "#/catalog/skill/billing.cost_allocation?tenant=acme",
		"#/catalog/skill?tenant=acme",
		"#/catalog/skill/billing.cost_allocation/edit?tenant=acme", volumes, "#/catalog/skill?prefix=billing.cost",
		"#/search?q=what+does+the+web+shop+cost+us+per+month%3F",
	} {
		p.open(fragment)
		p.wait("document.querySelector('[role=alert], .empty, .hit') && !document.querySelector('.loading')")
		if text := p.text("main"); strings.Contains(text, "Acme") || strings.Contains(text, "Split infrastructure cost") {
			t.Errorf("%s shows %s", fragment, text)
		}
	}
	p.expect(403)
	p.expect(404)
}
