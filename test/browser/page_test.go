package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"cairn/test/wait"
)

// page is a tab with its own session. Its test fails for every error in the console of
// the browser, except the statuses of responses that it expects.
type page struct {
	t    testing.TB
	ctx  context.Context
	base string

	mu       sync.Mutex
	problems []string
	expected []int // statuses
	lost     bool  // the server may be unreachable
}

// openPage opens a tab, and the console at the fragment.
func openPage(t testing.TB, s *suite, base, fragment string) *page {
	t.Helper()
	p := &page{t: t, base: base}
	ctx, cancel := chromedp.NewContext(s.browser, chromedp.WithNewBrowserContext(), chromedp.WithListener(p.listen))
	p.ctx = ctx
	t.Cleanup(func() {
		p.noProblems()
		cancel()
	})
	p.run(command(log.Enable, cdp.Empty{}), chromedp.EmulateViewport(1280, 800), chromedp.Navigate(base+"/"+fragment))
	return p
}

// listen collects errors.
func (p *page) listen(event any) {
	problem := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		problem = e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			problem += " " + e.ExceptionDetails.Exception.Description
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			problem = fmt.Sprint(e.Type, " in the console")
			for _, arg := range e.Args {
				problem += " " + string(arg.Value) + arg.Description
			}
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			problem = fmt.Sprintf("%s %s", e.Entry.Text, e.Entry.URL)
		}
	}
	if problem != "" {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.problems = append(p.problems, problem)
	}
}

// expect permits failed responses with these statuses.
func (p *page) expect(statuses ...int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expected = append(p.expected, statuses...)
}

// expectNoConnection permits requests that do not reach the server.
func (p *page) expectNoConnection() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost = true
}

func (p *page) noProblems() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, problem := range p.problems {
		expected := slices.ContainsFunc(p.expected, func(status int) bool {
			return strings.Contains(problem, fmt.Sprintf("responded with a status of %d ", status))
		})
		if lost := p.lost && strings.Contains(problem, "net::ERR_"); !expected && !lost {
			p.t.Errorf("error in the browser: %s", problem)
		}
	}
}

// command returns an action that sends a command of the DevTools protocol.
func command[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, params)
		return err
	})
}

func (p *page) run(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// open shows the view of the fragment in the same session.
func (p *page) open(fragment string) {
	p.t.Helper()
	p.eval("location.hash = "+quoted(fragment), nil)
}

// eval runs JavaScript, and decodes its value into result unless that is nil. It waits for a promise.
func (p *page) eval(script string, result any) {
	p.t.Helper()
	if err := p.evaluate(script, result); err != nil {
		p.t.Fatalf("%s: %v", script, err)
	}
}

func (p *page) evaluate(script string, result any) error {
	value, err := chromedp.Run(p.ctx, chromedp.Evaluate[[]byte](script, chromedp.EvalAwaitPromise))
	if err == nil && result != nil {
		err = json.Unmarshal(value, result)
	}
	return err
}

// wait waits until the JavaScript expression is true.
func (p *page) wait(expression string) {
	p.t.Helper()
	holds := false
	defer func() {
		if !holds {
			p.t.Logf("the page has the text: %s", p.text("body"))
		}
	}()
	wait.Until(p.t, expression, func() bool {
		var value bool
		// elements may be absent yet
		err := p.evaluate("(() => { try { return Boolean("+expression+"); } catch { return false; } })()", &value)
		// another page is loading
		if err != nil && !strings.Contains(err.Error(), "Inspected target navigated") {
			p.t.Fatalf("%s: %v", expression, err)
		}
		return value
	})
	holds = true
}

// waitText waits until the elements of the selector contain all texts.
func (p *page) waitText(selector string, texts ...string) {
	p.t.Helper()
	for _, text := range texts {
		p.wait(fmt.Sprintf("[...document.querySelectorAll(%s)].some(e => e.innerText.includes(%s))", quoted(selector),
			quoted(text)))
	}
}

// text returns the text of the elements of the selector.
func (p *page) text(selector string) string {
	p.t.Helper()
	var text string
	p.eval(fmt.Sprintf("[...document.querySelectorAll(%s)].map(e => e.innerText).join('\\n')", quoted(selector)), &text)
	return text
}

// count returns the number of elements.
func (p *page) count(selector string) (n int) {
	p.t.Helper()
	p.eval(fmt.Sprintf("document.querySelectorAll(%s).length", quoted(selector)), &n)
	return n
}

// click clicks the first visible link, button or summary with the text, in the view if it is there.
func (p *page) click(text string) {
	p.t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll('main :is(a, button, summary), :is(a, button, summary)')]
		.sort((a, b) => Boolean(b.closest('main')) - Boolean(a.closest('main')))
		.find(e => e.innerText.trim() === %s && e.checkVisibility() && !e.disabled)`, quoted(text))
	p.wait(find)
	p.eval(find+".click()", nil)
}

// fill replaces the value of a control, as typing does.
func (p *page) fill(selector, value string) {
	p.t.Helper()
	p.wait(fmt.Sprintf("document.querySelector(%s)", quoted(selector)))
	p.eval(fmt.Sprintf(`(() => { const e = document.querySelector(%s); e.value = %s;
		for (const name of ['input', 'change']) e.dispatchEvent(new Event(name, {bubbles: true})); })()`, quoted(selector), quoted(value)), nil)
}

// press sends keys to the focused element.
func (p *page) press(keys string) {
	p.t.Helper()
	p.run(chromedp.KeyEvent(keys))
}

// signIn signs in with a key, after the first request was refused.
func (p *page) signIn(key string) {
	p.t.Helper()
	p.expect(http.StatusUnauthorized)
	p.fill("#credential", key)
	p.click("Sign in")
}

// resize emulates a screen.
func (p *page) resize(width, height int64) {
	p.t.Helper()
	p.run(chromedp.EmulateViewport(width, height))
}

// prefer emulates a media feature, such as prefers-color-scheme.
func (p *page) prefer(name, value string) {
	p.t.Helper()
	features := []*emulation.MediaFeature{{Name: name, Value: value}}
	p.run(command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}))
}

// quoted returns s as a literal of JavaScript.
func quoted(s string) string {
	b, _ := json.Marshal(s) // cannot fail for a string
	return string(b)
}
