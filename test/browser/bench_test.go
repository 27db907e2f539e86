package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"

	"cairn/test/cairntest"
)

// openBenchPage opens the view of questions at a server of its own.
func openBenchPage(b *testing.B) *page {
	b.Helper()
	s := &suite{browser: startBrowser(b), open: cairntest.Up(b, "--data", "", "--model", "offline:")}
	p := openPage(b, s, s.open.URL(), "#/ask")
	p.wait("document.querySelector('.compose')")
	p.run(command(performance.Enable, performance.EnableParams{TimeDomain: "threadTicks"}))
	return p
}

// metrics returns the metrics of the tab by name.
func (p *page) metrics() map[string]float64 {
	p.t.Helper()
	values := map[string]float64{}
	p.run(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		got, err := cdp.Call(ctx, t, performance.GetMetrics, cdp.Empty{})
		for _, m := range got.Metrics {
			values[m.Name] = m.Value
		}
		return err
	}))
	return values
}

// BenchmarkLargeTable measures the time from an event until the table of 1,000 groups, of which 115 are
// shown, is painted in another order, and with another filter.
func BenchmarkLargeTable(b *testing.B) {
	p := openBenchPage(b)
	groups := map[string]int{}
	for i := range 1000 {
		groups[fmt.Sprintf("host-%d.fra%d.example.com", i*7919%1000, i%9)] = i
	}
	result, err := json.Marshal(map[string]any{"groups": groups, "total": 499500, "matched": 499500})
	if err != nil {
		b.Fatal(err)
	}
	p.eval(fmt.Sprintf(`sessionStorage.setItem('cairn.questions', JSON.stringify([{id: 'large', conversation: 'large',
		query: 'large', state: 'done', began: 1, progress: {text: 'x', figures: [], calls: [{id: '1', name: 'compute_stats',
			input: {data_key: 'hosts', group_by: 'name'}, result: %s}]}}])); location.reload()`, result), nil)
	p.click("Show 100 more of 1,000")
	p.wait("document.querySelectorAll('.figures tbody tr').length === 115")
	p.eval(`window.measure = async (act) => {
		const began = performance.now();
		act();
		await new Promise(requestAnimationFrame);
		await new Promise(done => setTimeout(done)); // after the paint
		return performance.now() - began;
	}; null`, nil)
	var sorts, filters []float64
	for b.Loop() {
		var ms float64
		p.eval("measure(() => document.querySelector('.figures thead button').click())", &ms)
		sorts = append(sorts, ms)
		for _, text := range []string{"fra3", ""} {
			p.eval(fmt.Sprintf(`measure(() => { const e = document.querySelector('.figures input'); e.value = %s;
				e.dispatchEvent(new Event('input', {bubbles: true})); })`, quoted(text)), &ms)
			filters = append(filters, ms)
		}
	}
	p.wait("document.querySelectorAll('.figures tbody tr').length === 115")
	reportMedian(b, "ms/sort", sorts)
	reportMedian(b, "ms/filter", filters)
	b.ReportMetric(0, "ns/op")
}

func reportMedian(b *testing.B, unit string, values []float64) {
	slices.Sort(values)
	b.ReportMetric(values[len(values)/2], unit)
}

// BenchmarkAnswerStream measures the frames of an answer that arrives in 1,000 text events, one every 4 ms.
func BenchmarkAnswerStream(b *testing.B) {
	p := openBenchPage(b)
	p.useEstate(estate)
	p.eval(`window.fetch = async () => {
		let n = 0;
		const event = (type, data) => 'id: ' + n + '\nevent: ' + type + '\ndata: ' + JSON.stringify(data) + '\n\n';
		const body = new ReadableStream({pull: async (c) => {
			await new Promise(done => setTimeout(done, 4));
			n++;
			const text = n % 12 ? 'word ' + n + ' ' : '\n- **item** ' + n + ' ';
			c.enqueue(new TextEncoder().encode(n <= 1000 ? event('text_delta', {text}) : event('done', {})));
			if (n > 1000) c.close();
		}});
		return new Response(body, {headers: {'Cairn-Run': 'run'}});
	}; null`, nil)
	for b.Loop() {
		p.click("New conversation")
		p.eval(`window.gaps = []; window.running = true; (() => { let before = performance.now();
			const frame = (now) => { gaps.push(now - before); before = now; if (running) requestAnimationFrame(frame); };
			requestAnimationFrame(frame); })()`, nil)
		before := p.metrics()
		p.ask("go on")
		p.wait("document.querySelector('.question .status').innerText === 'Done'")
		after := p.metrics()
		var gaps []float64
		p.eval("running = false, gaps", &gaps)
		frames, dropped := float64(len(gaps)), 0
		for _, gap := range gaps {
			if gap > 34 { // more than two frames of 60 Hz
				dropped++
			}
		}
		busy := after["ScriptDuration"] + after["LayoutDuration"] + after["RecalcStyleDuration"] -
			before["ScriptDuration"] - before["LayoutDuration"] - before["RecalcStyleDuration"]
		b.ReportMetric((after["LayoutCount"]-before["LayoutCount"])/frames, "layouts/frame")
		b.ReportMetric(1000*busy/frames, "cpu-ms/frame")
		b.ReportMetric(float64(dropped), "dropped")
		b.ReportMetric(frames, "frames")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkQuestions measures the heap of a tab after 50 questions, which it keeps, and after 200.
func BenchmarkQuestions(b *testing.B) {
	p := openBenchPage(b)
	p.useEstate(estate)
	heap := func() map[string]float64 {
		p.run(command(heapprofiler.CollectGarbage, cdp.Empty{}), command(heapprofiler.CollectGarbage, cdp.Empty{}))
		return p.metrics()
	}
	asked := 0
	ask := func(total int) {
		for ; asked < total; asked++ {
			p.ask(fmt.Sprintf("how many hosts per site? %d", asked))
			p.wait(fmt.Sprintf(`(e => e.innerText.includes('? %d') && e.querySelector('.status.done, .status.declined'))(
				document.querySelector('.question:last-of-type'))`, asked))
		}
	}
	for b.Loop() {
		before := heap()
		ask(50)
		first := heap()
		ask(200)
		last := heap()
		for name, unit := range map[string]string{"JSHeapUsedSize": "heap-bytes", "Nodes": "nodes"} {
			b.ReportMetric(before[name], unit+"/0")
			b.ReportMetric(first[name], unit+"/50")
			b.ReportMetric(last[name], unit+"/200")
		}
		asked = 0
	}
	b.ReportMetric(0, "ns/op")
}
