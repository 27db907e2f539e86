package analyze_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/services/analyze"
	"cairn/services/internal/model"
	"cairn/services/internal/model/modeltest"
	"cairn/services/internal/model/offline"
	"cairn/services/internal/model/ollama"
	"cairn/services/internal/model/ollamatest"
	"cairn/test/wait"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const pumps = `{"site":{"pumps":[{"id":"p1","state":"on"},{"id":"p2","state":"off"},{"id":"p3","state":"on"}]}}`

// serve starts the service. render is the subject of the rendering agent; empty: none.
func serve(t *testing.T, conn *bus.Conn, m model.Model, render string) {
	t.Helper()
	serveLogged(t, conn, m, render, slog.DiscardHandler)
}

// serveLogged is serve with a log.
func serveLogged(t *testing.T, conn *bus.Conn, m model.Model, render string, log slog.Handler) {
	t.Helper()
	s := bustest.Service(t, conn, "analyze")
	if err := analyze.Serve(s, analyze.Deps{Conn: conn, Model: m, Render: render, Memory: 256 << 20, EstateMemory: 1 << 20,
		Log: slog.New(log)}); err != nil {
		t.Fatal(err)
	}
}

// serving starts a server and the service without a rendering agent.
func serving(t *testing.T, m model.Model) *bus.Conn {
	t.Helper()
	conn := bustest.Open(t)
	serve(t, conn, m, "")
	return conn
}

// scripted returns a model that replies with turns, and its server.
func scripted(t *testing.T, turns ...modeltest.Turn) (model.Model, *ollamatest.Server) {
	t.Helper()
	return narrow(t, 16384, turns...)
}

// narrow is scripted with a window of window tokens.
func narrow(t *testing.T, window int, turns ...modeltest.Turn) (model.Model, *ollamatest.Server) {
	t.Helper()
	server := ollamatest.New(t, turns...)
	m, err := ollama.Open(t.Context(), fmt.Sprintf("%s?num_ctx=%d&plan=tools&answers=forwarded", server.URL(), window))
	if err != nil {
		t.Fatal(err)
	}
	return m, server
}

func analysisOf(query string) schemas.Analysis {
	return schemas.Analysis{Query: query, Context: pumps, Target: "H"}
}

// stream returns the events of an analysis, one per line, and its error.
func stream(ctx context.Context, conn *bus.Conn, a schemas.Analysis) (string, error) {
	var lines []string
	for event, err := range bus.Analyze.Call(ctx, conn, a) {
		if err != nil {
			return strings.Join(lines, "\n"), err
		}
		lines = append(lines, event.Type+" "+string(event.Data))
	}
	return strings.Join(lines, "\n"), nil
}

// answered returns the events of an analysis without an error.
func answered(t *testing.T, conn *bus.Conn, a schemas.Analysis) string {
	t.Helper()
	events, err := stream(t.Context(), conn, a)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func TestAnalysisEvents(t *testing.T) {
	t.Parallel()
	count := modeltest.ToolTurn("compute_stats", `{"data_key":"site.pumps","group_by":"state"}`)
	for _, row := range []struct {
		name  string
		turns []modeltest.Turn
		want  []string
	}{
		{"tools first, then text, then done",
			[]modeltest.Turn{count, modeltest.TextTurn("Two ", "are on.")},
			[]string{
				`tool_use {"tool_call_id":"call_compute_stats","name":"compute_stats","input":{"data_key":"site.pumps","group_by":"state"}}`,
				`tool_result {"tool_call_id":"call_compute_stats","result":{"groups":{"on":2,"off":1},"total":3,"group_count":2,"matched":3,"records":3}}`,
				`text_delta {"text":"Two "}`, `text_delta {"text":"are on."}`, `done {}`,
			}},
		{"an array's schema",
			[]modeltest.Turn{modeltest.ToolTurn("inspect_schema", `{"data_key":"site.pumps"}`), modeltest.TextTurn("ok")},
			[]string{`"result":{"fields":["id","state"],"count":3,"sample":{"id":"p1","state":"on"},"details":[`}},
		{"an unknown array lists the known ones",
			[]modeltest.Turn{modeltest.ToolTurn("inspect_schema", `{"data_key":"pumps"}`), modeltest.TextTurn("ok")},
			[]string{`"available":["site.pumps"]`}},
		{"an unknown metric lists the known ones",
			[]modeltest.Turn{modeltest.ToolTurn("compute_stats", `{"data_key":"site.pumps","metrics":["median"]}`),
				modeltest.TextTurn("ok")},
			[]string{`"result":{"error":"`, `p50`}},
		{"an input of the wrong type is an error result",
			[]modeltest.Turn{modeltest.ToolTurn("compute_stats", `{"data_key":7}`), modeltest.TextTurn("ok")},
			[]string{`"result":{"error":"compute_stats takes {data_key, group_by, filter, any_of, metrics, having, over_groups, names, top, share, lookup}: data_key: expected`, `text_delta {"text":"ok"}`}},
		{"an unknown argument is an error result",
			[]modeltest.Turn{modeltest.ToolTurn("compute_stats", `{"data_key":"site.pumps","where":{"state":"on"}}`),
				modeltest.TextTurn("ok")},
			[]string{`"result":{"error":"compute_stats takes {data_key, group_by, filter, any_of, metrics, having, over_groups, names, top, share, lookup}: unknown argument \"where\""}`}},
		{"an argument of the other tool is an error result",
			[]modeltest.Turn{modeltest.ToolTurn("inspect_schema", `{"data_key":"site.pumps","group_by":"state"}`),
				modeltest.TextTurn("ok")},
			[]string{`"result":{"error":"inspect_schema takes {data_key: string}: unknown argument \"group_by\""}`}},
		{"a failure after the first event is an event",
			[]modeltest.Turn{count, {Status: 500, Error: "boom"}},
			[]string{`tool_result`, `error {"code":"AN-500"`, `done {}`}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m, _ := scripted(t, row.turns...)
			conn := serving(t, m)
			got := answered(t, conn, analysisOf("how many pumps are on?"))
			for _, want := range row.want {
				if !strings.Contains(got, want) {
					t.Errorf("got\n%s\nwant %s in it", got, want)
				}
			}
			if strings.Count(got, "done {}") != 1 {
				t.Errorf("got\n%s\nwant one done", got)
			}
		})
	}
}

func TestHistoryInRequest(t *testing.T) {
	t.Parallel()
	m, server := scripted(t, modeltest.TextTurn("one"))
	conn := serving(t, m)
	a := analysisOf("")
	a.Target = "br"
	a.Prompt = &schemas.Prompt{M: map[string]schemas.Utterance{
		"10": {R: 0, C: "and off?"}, "2": {R: 1, C: "Two."}, "1": {R: 0, C: "how many are on?"},
	}}
	answered(t, conn, a)
	var roles, texts []string
	for _, m := range server.Requests()[0].Messages {
		roles, texts = append(roles, m.Role), append(texts, m.Content)
	}
	if got, want := strings.Join(roles, " "), "system user assistant user"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := strings.Join(texts[1:], "|"), "how many are on?|Two.|and off?"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, want := range []string{"no recommendations", "site.pumps"} {
		if !strings.Contains(texts[0], want) {
			t.Errorf("the system prompt lacks %q:\n%s", want, texts[0])
		}
	}
	if strings.Contains(texts[0], "p2") {
		t.Errorf("the system prompt contains records:\n%s", texts[0])
	}
}

func TestAnalysisErrors(t *testing.T) {
	t.Parallel()
	m, _ := scripted(t, modeltest.Turn{Status: 404, Error: "model not found"})
	conn := serving(t, m)
	for _, row := range []struct {
		name, context string
		want          *schemas.Error
		message       string
	}{
		{"a context that is not JSON", "{", schemas.ErrAnalysisInternal, "context: "},
		{"no context", "", schemas.ErrAnalysisMalformed, "context: required"},
		{"a model that fails", pumps, schemas.ErrAnalysisInternal, "model call failed"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			a := analysisOf("how many?")
			a.Context = row.context
			got, err := stream(t.Context(), conn, a)
			if !errors.Is(err, row.want) || !strings.Contains(err.Error(), row.message) || got != "" {
				t.Errorf("got %q, %v; want %v containing %q", got, err, row.want, row.message)
			}
		})
	}
}

// lines receives the lines of a log.
type lines chan string

// Write implements io.Writer.
func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// TestLogOfAnAnalysis checks that ids set by the client are logged truncated, at debug level.
func TestLogOfAnAnalysis(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	log := make(lines, 1)
	serveLogged(t, conn, offline.New(), "", slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	for _, row := range []struct{ id, want string }{{"ui-1", "ui-1"},
		{strings.Repeat("é", 256), strings.Repeat("é", 64)}} {
		a := analysisOf("how many?")
		a.ID, a.RequestID = row.id, row.id
		answered(t, conn, a)
		got := <-log
		if !strings.Contains(got, "level=DEBUG") ||
			!strings.Contains(got, "client_id="+row.want+" client_request_id="+row.want+" ") {
			t.Errorf("got %s, want client_id and client_request_id %s at debug level", got, row.want)
		}
	}
}

// TestAnalysisMemory checks that a body of 1 MB is refused while another run holds
// the memory.
func TestAnalysisMemory(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	held := make(chan struct{})
	m, server := scripted(t, modeltest.Turn{Text: []string{"a"}, Gate: held}, modeltest.TextTurn("ok"),
		modeltest.TextTurn("ok"))
	s := bustest.Service(t, conn, "analyze")
	if err := analyze.Serve(s, analyze.Deps{Conn: conn, Model: m, Memory: 8 << 20, EstateMemory: 1 << 20,
		Log: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	large := func(n int) schemas.Analysis {
		a := analysisOf("how many?")
		a.Context = fmt.Sprintf(`{"n":%d,"items":["%s"]}`, n, strings.Repeat("x", 900_000))
		return a
	}
	first := make(chan error, 1)
	go func() {
		_, err := stream(t.Context(), conn, large(1))
		first <- err
	}()
	wait.Until(t, "the model receives the request", func() bool { return len(server.Requests()) > 0 })
	if _, err := stream(t.Context(), conn, large(2)); !errors.Is(err, schemas.ErrAnalysisUnavailable) ||
		!strings.Contains(err.Error(), "--analysis-memory") {
		t.Errorf("a second run: got %v, want %v naming --analysis-memory", err, schemas.ErrAnalysisUnavailable)
	}
	close(held)
	if err := <-first; err != nil {
		t.Error(err)
	}
	if _, err := stream(t.Context(), conn, large(2)); err != nil {
		t.Errorf("after the first run, with its estate cached: %v", err)
	}
}

func TestMaxRounds(t *testing.T) {
	t.Parallel()
	inspect := modeltest.ToolTurn("inspect_schema", `{"data_key":"site.pumps"}`)
	for _, row := range []struct {
		name string
		last modeltest.Turn
		want string
	}{
		{"the model answers", modeltest.TextTurn("Three."), `text_delta {"text":"Three."}`},
		{"the model calls a tool again", inspect,
			`error {"code":"AN-500","message":"analysis failed: the model called tools in 13 messages and gave no answer"}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			m, server := scripted(t, append(slices.Repeat([]modeltest.Turn{inspect}, 12), row.last)...)
			conn := serving(t, m)
			got, err := stream(t.Context(), conn, analysisOf("how many?"))
			if err != nil || !strings.HasSuffix(got, row.want+"\ndone {}") {
				t.Errorf("got\n%s\n%v", got, err)
			}
			last := server.Requests()[12]
			if final := last.Messages[len(last.Messages)-1]; len(last.Tools) != 0 || final.Role != "user" ||
				!strings.Contains(final.Content, "Answer now") {
				t.Errorf("the last request has %d tools and ends with message %+v", len(last.Tools), final)
			}
		})
	}
}

func TestDisconnectCancelsModel(t *testing.T) {
	t.Parallel()
	m, server := scripted(t, modeltest.Turn{Text: []string{"a", "b"}, Gate: gate(1)})
	conn := serving(t, m)
	for _, err := range bus.Analyze.Call(t.Context(), conn, analysisOf("how many?")) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	select {
	case <-server.Disconnects():
	case <-time.After(wait.Timeout):
		t.Fatal("the model request was not canceled after the disconnect")
	}
}

// gate returns a turn's gate that lets n pieces of text through.
func gate(n int) <-chan struct{} {
	g := make(chan struct{}, n)
	for range n {
		g <- struct{}{}
	}
	return g
}

func TestOfflineUsage(t *testing.T) {
	t.Parallel()
	conn := serving(t, offline.New())
	a := analysisOf("How many pumps are there?")
	a.Include = []string{"usage"}
	got := answered(t, conn, a)
	lines := strings.Split(got, "\n")
	if !strings.Contains(got, "3") || !strings.HasPrefix(lines[len(lines)-2], `usage {"prompt_tokens":`) {
		t.Errorf("got\n%s", got)
	}
}
