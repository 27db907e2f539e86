package browser

import (
	"fmt"
	"os"
	"testing"

	"cairn/test/wait"
)

const estate = `{"hosts": [{"name": "a", "site": "fra1"}, {"name": "b", "site": "fra1"}, {"name": "c", "site": "muc1"}]}`

// useEstate loads an estate in the open view.
func (p *page) useEstate(text string) {
	p.t.Helper()
	p.fill("#estate", text)
	p.click("Use this estate")
	p.wait("!document.querySelector('#query').disabled")
}

// drop drops a file on the open view.
func (p *page) drop(name, text string) {
	p.t.Helper()
	p.wait("document.querySelector('.drop')")
	p.eval(fmt.Sprintf(`(() => {
		const data = new DataTransfer();
		data.items.add(new File([%s], %s, {type: 'application/json'}));
		document.querySelector('.drop').dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));
	})()`, quoted(text), quoted(name)), nil)
	p.wait("!document.querySelector('#query').disabled")
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
	p.ask("hosts by site, say: There are **3** hosts, 2 of them in `fra1`, and (wrong) guesses.")
	p.waitText(".question .status", "Answered")
	p.waitText(".call", "compute_stats", "count of hosts by site", "fra1")
	p.waitText(".answer strong", "3")
	p.waitText(".unproven", "4711")
	p.waitText(".proof", "1 figure is not supported by any result: 4711")
	p.wait("document.querySelectorAll('.figure-link').length === 2")
	p.eval("[...document.querySelectorAll('.figure-link')].find(e => e.innerText === '2').click()", nil)
	p.wait("document.activeElement.id.endsWith('/groups/fra1') && document.activeElement.innerText.includes('fra1')")
	p.eval("document.querySelector('.call details').open = true", nil)
	p.waitText(".call .json", `"group_by": "site"`)

	// A further question of the conversation, and the history after a reload.
	p.ask("again, say: Nothing.")
	p.waitText(".answer", "Nothing.")
	p.waitText(".history", "again, say: Nothing.", "hosts by site")
	p.wait("document.querySelectorAll('.question .status').length === 2 && [...document.querySelectorAll('.question .status')].every(e => e.innerText === 'Answered')")
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
	planner.wait("document.querySelector('.suggestions button')")
	planner.eval("document.querySelector('.suggestions button').click()", nil)
	planner.wait("document.querySelectorAll('.question').length === 2 && document.querySelectorAll('.question')[1].querySelector('.status').innerText === 'Answered'")
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
	p.waitText(".question .status", "Answered")

	p.ask("say: This never ends (forever) at all.")
	p.waitText(".answer", "This never ends")
	p.click("Stop")
	p.waitText(".question .status", "Stopped")
	select {
	case <-s.model.canceled:
	case <-t.Context().Done():
		t.Error("the model still works after the stop")
	}
	p.wait("![...document.querySelectorAll('button')].some(b => b.innerText === 'Stop')")
}

func testEstate(t *testing.T, s *suite) {
	p := openPage(t, s, s.open.URL(), "#/ask")
	p.fill("#estate", "{not json")
	p.click("Use this estate")
	p.waitText("#estate-error", "not JSON")
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
	p.wait("document.querySelectorAll('.question .status').length === 2 && [...document.querySelectorAll('.question .status')].every(e => e.innerText === 'Answered')")
	wait.Until(t, "the answer suggests questions", func() bool { return p.count(".question:last-of-type .answer") > 0 })
}
