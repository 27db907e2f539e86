package browser

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"cairn/test/wait"
)

const estate = `{"hosts": [{"name": "a", "site": "fra1"}, {"name": "b", "site": "fra1"}, {"name": "c", "site": "muc1"}]}`

// useEstate loads an estate in the open view.
func (p *page) useEstate(text string) {
	p.t.Helper()
	p.fill("#estate", text)
	p.click("Use this estate")
	p.estateRead()
}

// estateRead waits until the server has read the estate.
func (p *page) estateRead() {
	p.t.Helper()
	p.wait("document.querySelector('.estate .badge') && !document.querySelector('#query').disabled")
}

// drop drops a file on the open view.
func (p *page) drop(name, text string) {
	p.t.Helper()
	p.wait("document.querySelector('.drop')")
	p.eval(fmt.Sprintf(`(() => {
		const data = new DataTransfer();
		data.items.add(new File([%s], %s, {type: 'application/json'}));
		document.querySelector('.drop').dispatchEvent(
			new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));
	})()`, quoted(text), quoted(name)), nil)
	p.estateRead()
}

// ask asks a question.
func (p *page) ask(question string) {
	p.t.Helper()
	p.fill("#query", question)
	p.click("Ask")
}

func testAsk(t *testing.T, s *suite) {
	p := openPage(t, s, s.keyed.URL(), "#/ask")
	p.signIn(s.key(t, "analyst", "--tenant", "acme"))
	p.useEstate(estate)
	p.waitText(".estate", "hosts 3")
	p.wait("document.activeElement.id === 'query'")
	p.ask("hosts by site, say: There are **3** hosts, 2 of them in `fra1`, and (wrong) guesses.")
	p.waitText(".question .status", "Done")
	p.waitText(".call", "compute_stats", "count of hosts by site", "fra1")
	p.waitText(".answer strong", "3")
	p.waitText(".unproven", "4711")
	p.waitText(".proof", "1 figure is not supported by any result: 4711")
	p.wait("document.querySelectorAll('.figure-link').length === 2")
	p.eval("[...document.querySelectorAll('.figure-link')].find(e => e.innerText === '2').click()", nil)
	p.wait("document.activeElement.id.endsWith('/groups/fra1') && document.activeElement.closest('tr').innerText.includes('fra1')")
	p.eval("document.querySelector('.call details details').open = true", nil)
	p.waitText(".call .json", `"group_by": "site"`)

	// A further question of the conversation, and the history after a reload.
	p.ask("again, say: Nothing.")
	p.waitText(".answer", "Nothing.")
	p.waitText(".history", "again, say: Nothing.", "hosts by site")
	p.wait("document.querySelectorAll('.question .status').length === 2 && [...document.querySelectorAll('.question .status')].every(e => e.innerText === 'Done')")
	p.eval("location.reload()", nil)
	p.waitText(".unproven", "4711")
	p.waitText(".estate", "hosts 3")
	p.wait("document.querySelectorAll('.question').length === 2")
	p.click("New conversation")
	p.wait("document.querySelectorAll('.question').length === 0")
	p.click("again, say: Nothing.")
	p.wait("document.querySelectorAll('.question').length === 2")

	planner := openPage(t, s, s.open.URL(), "#/ask")
	planner.useEstate(estate)
	planner.ask("why do the hosts fail?")
	planner.wait("document.querySelector('.question .suggestions button')")
	planner.waitText(".question .status", "Declined")
	planner.waitText(".history", "Declined")
	planner.open("#/runs")
	planner.waitText(".stored", "Declined")
	planner.eval("history.back()", nil)
	planner.wait("document.querySelector('.question .suggestions button')")
	planner.eval("document.querySelector('.question .suggestions button').click()", nil)
	planner.wait("document.querySelectorAll('.question').length === 2 && document.querySelectorAll('.question')[1].querySelector('.status').innerText === 'Done'")
	planner.wait("document.querySelectorAll('.question')[1].querySelector('.call')")
}

func testResume(t *testing.T, s *suite) {
	p := openPage(t, s, s.keyed.URL(), "#/ask")
	p.signIn(s.key(t, "analyst", "--tenant", "acme"))
	p.useEstate(estate)
	p.ask("say: Before the reload (wait) and after it.")
	p.waitText(".answer", "Before the reload")
	p.wait("document.querySelector('.question-foot').innerText.includes('Run')")
	p.waitText(".question .status", "Answering")
	p.eval("location.reload()", nil)
	p.waitText(".answer", "Before the reload")
	p.waitText(".question .status", "Answering")
	s.model.Release()
	p.waitText(".answer", "Before the reload and after it.")
	p.waitText(".question .status", "Done")

	p.ask("say: This never ends (forever) at all.")
	p.waitText(".answer", "This never ends")
	p.click("Cancel")
	p.waitText(".question .status", "Canceled")
	select {
	case <-s.model.canceled:
	case <-t.Context().Done():
		t.Error("the model still works after the stop")
	}
	p.wait("![...document.querySelectorAll('button')].some(b => b.innerText === 'Cancel')")
}

func testEstate(t *testing.T, s *suite) {
	p := openPage(t, s, s.open.URL(), "#/ask")
	p.fill("#estate", "{not json")
	p.click("Use this estate")
	p.waitText("#estate-error", "context: ")
	p.expect(500)
	p.wait("document.activeElement.id === 'estate' && document.activeElement.getAttribute('aria-invalid') === 'true'")
	p.fill("#estate", `{"name": "web-01"}`)
	p.click("Use this estate")
	p.waitText("#estate-error", "members are name")
	p.eval(`window.send = fetch; window.fetch = (url, options) => new Promise((resolve, reject) => {
		options.signal.addEventListener('abort', () => reject(options.signal.reason)); })`, nil)
	p.click("Use this estate")
	p.waitText(".estate [role=status]", "Reading the estate…")
	p.wait("document.querySelector('#estate').readOnly")
	p.click("Cancel")
	p.wait("!document.querySelector('#estate').readOnly && document.querySelector('.estate [role=status]').innerText === ''")
	p.eval("window.fetch = window.send", nil)
	file, err := os.ReadFile(examples + "/estate.json")
	if err != nil {
		t.Fatal(err)
	}
	p.drop("estate.json", string(file))
	p.waitText(".estate", "estate.json", "hosts 30", "network.vlans 10")
	p.ask("how many hosts per site?")
	p.waitText(".answer", "30 hosts by site")
	p.waitText(".proof", "Every figure is supported")
	p.ask("what is the meaning of life?")
	p.wait("document.querySelectorAll('.question .status').length === 2 && [...document.querySelectorAll('.question .status')].every(e => ['Done', 'Declined'].includes(e.innerText))")
	wait.Until(t, "the answer suggests questions", func() bool { return p.count(".question:last-of-type .answer") > 0 })

	p.click("Change the estate")
	p.useEstate(`{"Reservations": [{"Instances": [{"InstanceId": "i-1"}, {"InstanceId": "i-2"}]},
		{"Instances": [{"InstanceId": "i-3"}]}]}`)
	p.waitText(".estate .badge", "Reservations 2", "Reservations.Instances 3")
	p.click("Change the estate")
	p.useEstate("{\"name\": \"a\"}\n{\"name\": \"b\"}\n")
	p.waitText(".estate .badge", "items 2")
	many := map[string]any{}
	for i := range 45 {
		many[fmt.Sprintf("array%02d", i)] = []any{map[string]any{"name": "a"}}
	}
	text, err := json.Marshal(many)
	if err != nil {
		t.Fatal(err)
	}
	p.click("Change the estate")
	p.useEstate(string(text))
	p.waitText(".estate", "array39 1", "… 5 more")
}

// results is a stored question with calls of compute_stats and their results.
//
//go:embed testdata/results.json
var results string

// testResults shows a stored answer with the results of each kind.
func testResults(t *testing.T, s *suite) {
	p := openPage(t, s, s.open.URL(), "#/ask")
	p.wait("document.querySelector('.compose')")
	p.eval(fmt.Sprintf(`sessionStorage.setItem('cairn.questions', JSON.stringify([%s])); location.reload()`, results), nil)
	p.wait("document.querySelectorAll('.call > details').length === 4 && document.querySelectorAll('.call > details[open]').length === 1")
	p.eval("document.querySelectorAll('.call > details').forEach(e => { e.open = true; })", nil)
	p.waitText(".call:nth-child(1)", "count, max:seen of hosts by site, role", "Over the groups: avg 1.5")
	p.waitText(".call:nth-child(1) thead", "site\trole\tcount\tmax:seen")
	p.waitText(".call:nth-child(1) tbody", "fra1\tdb\t2\t2026-02-01", "muc1\t<b>web</b>\t1\tnone")
	p.waitText(".call:nth-child(1) tfoot", "All 2 groups\t3\t2026-02-01")
	p.waitText(".call:nth-child(2)", "(top 2 by memory)", "31.03 %: 18 of 58 records", "… 16 more.")
	p.waitText(".call:nth-child(2) tbody", "web-01\t64")
	p.waitText(".call:nth-child(3) tbody tr:first-child", "db", "2026-04-01")
	p.eval("document.querySelector('.call:nth-child(3) thead th:nth-child(2) button').click()", nil)
	p.waitText(".call:nth-child(3) tbody tr:first-child", "api", "2")
	p.waitText(".call:nth-child(4) .total", "1,024 Mi")
	p.waitText(".call:nth-child(4)", "max:started: 2026-04-01")
	p.eval("[...document.querySelectorAll('.figure-link')].find(e => e.innerText === '64').click()", nil)
	p.wait("document.activeElement.id === 'row-a-2/names/0/value'")
	p.harmless("results")
	p.testLargeTable()
	p.eval(axe, nil)
	p.accessible("results")
	p.resize(390, 844)
	p.fitsPhone("results")
	p.wait("[...document.querySelectorAll('.bar-cell')].every(e => !e.checkVisibility())")
}

// testLargeTable shows a result of 200 groups, which are dates.
func (p *page) testLargeTable() {
	p.t.Helper()
	groups := map[string]int{"=1+1": 7}
	for i := range 199 {
		groups[time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)] = i
	}
	result, err := json.Marshal(map[string]any{"groups": groups, "total": 19708, "matched": 19708})
	if err != nil {
		p.t.Fatal(err)
	}
	p.eval(fmt.Sprintf(`sessionStorage.setItem('cairn.questions', JSON.stringify([{id: 'large', conversation: 'large', query: 'large',
		state: 'done', began: 1, progress: {text: Array.from({length: 40}, (_, i) => '- item ' + i).join('\n'), figures: [],
			calls: [{id: '1', name: 'compute_stats', input: {data_key: 'hosts', group_by: 'day'}, result: %s}]}}])); location.reload()`,
		result), nil)
	p.wait("document.querySelectorAll('.answer li').length === 15 && document.querySelectorAll('.figures tbody tr').length === 15")
	p.waitText(".figures tbody tr:first-child", "2026-07-18\t198")
	p.click("Show all 40")
	p.wait("document.querySelectorAll('.answer li').length === 40")
	p.eval("document.querySelector('.figures thead button').click()", nil)
	p.waitText(".figures tbody tr:first-child", "=1+1\t7")
	p.waitText(".figures thead th[aria-sort=ascending]", "day")
	p.eval("navigator.clipboard.writeText = () => Promise.resolve()", nil)
	p.click("Copy")
	p.waitText(".acknowledgement", "Copied")
	p.eval("URL.createObjectURL = blob => { blob.text().then(text => { window.saved = text; }); return 'data:,'; }", nil)
	p.click("Save as CSV")
	p.wait(`window.saved.startsWith("day,count\n'=1+1,7\n2026-01-01,0\n") && window.saved.split("\n").length === 202`)
	p.click("Show 100 more of 200")
	p.wait("document.querySelectorAll('.figures tbody tr').length === 115")
	p.click("Show all 200")
	p.wait("document.querySelectorAll('.figures tbody tr').length === 200")
	p.click("Show fewer")
	p.fill(".figures input", "2026-03")
	p.waitText(".figures [role=status]", "31 of 200 rows")
	p.waitText(".figures tbody tr:first-child", "2026-03-01\t59")
	p.click("Show all 31")
	p.wait("document.querySelectorAll('.figures tbody tr').length === 31")
	p.wait("document.querySelector('.answer').getBoundingClientRect().bottom <= document.querySelector('.compose').getBoundingClientRect().top")
}
