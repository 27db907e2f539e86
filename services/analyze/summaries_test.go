package analyze_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/services/analyze"
	"cairn/services/internal/model/modeltest"
	"cairn/services/internal/model/offline"
	"cairn/test/wait"
)

// summarized starts the service with its streams.
func summarized(t *testing.T) *bus.Conn {
	t.Helper()
	conn := bustest.Open(t)
	if err := errors.Join(bus.Analyze.Setup(t.Context(), conn, bucket.Replication{}),
		analyze.SetupSummaries(t.Context(), conn.JetStream(), bucket.Replication{}, time.Hour)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// runs lists the runs that a caller selects, when there are want of them.
func runs(ctx context.Context, t *testing.T, conn *bus.Conn, q schemas.RunQuery, want int) []schemas.RunSummary {
	t.Helper()
	var list schemas.RunList
	wait.Until(t, fmt.Sprintf("%d runs are listed", want), func() bool {
		var err error
		if list, err = bus.ListRuns.Call(ctx, conn, q); err != nil {
			t.Fatal(err)
		}
		return len(list.Runs) == want
	})
	return list.Runs
}

func body(t *testing.T, a schemas.Analysis) []byte {
	t.Helper()
	encoded, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

func as(t *testing.T, id string, tenants ...string) context.Context {
	return bus.WithIdentity(t.Context(), &schemas.Identity{ID: id, Role: schemas.RoleAdmin, Tenants: tenants})
}

func TestRunSummary(t *testing.T) {
	t.Parallel()
	conn := summarized(t)
	m, _ := scripted(t, modeltest.ToolTurn("inspect_schema", `{"data_key":"site.pumps"}`), modeltest.TextTurn("ok"))
	serve(t, conn, m, "")
	ctx, name := as(t, "k1", "acme"), bus.NewRun()
	question := strings.Repeat("é", 501)
	for _, err := range bus.Analyze.Run(ctx, conn, name, body(t, analysisOf(question))) {
		if err != nil {
			t.Fatal(err)
		}
	}
	var got schemas.RunSummary
	wait.Until(t, "the run has a summary", func() bool {
		got = runs(ctx, t, conn, schemas.RunQuery{User: "k1"}, 1)[0]
		return got.Query != ""
	})
	want := schemas.RunSummary{
		Run: name, State: schemas.RunDone, User: "k1", Model: m.Name(), Query: question[:2*499] + "…",
		Usage: &schemas.Usage{PromptTokens: got.Usage.PromptTokens, AnswerTokens: got.Usage.AnswerTokens, ToolCalls: 1},
	}
	ignored := cmpopts.IgnoreFields(schemas.RunSummary{}, "StartedAt", "UpdatedAt", "DurationMS")
	if diff := cmp.Diff(want, got, ignored); diff != "" || got.Usage.AnswerTokens == 0 {
		t.Errorf("%+v\n%s", got.Usage, diff)
	}
	started, err := time.Parse(time.RFC3339, got.StartedAt)
	ended, err2 := time.Parse(time.RFC3339, got.UpdatedAt)
	if took := ended.Sub(started).Milliseconds(); errors.Join(err, err2) != nil || got.DurationMS != took {
		t.Errorf("started %s, ended %s, took %d ms", got.StartedAt, got.UpdatedAt, got.DurationMS)
	}
}

// TestSummariesOfOutcomes checks runs without events in the replay stream, which clients of NATS start.
func TestSummariesOfOutcomes(t *testing.T) {
	t.Parallel()
	conn := summarized(t)
	m, _ := scripted(t, modeltest.Turn{Status: 500, Error: "boom"})
	serve(t, conn, m, "")
	if _, err := stream(t.Context(), conn, analysisOf("a failure")); err == nil {
		t.Fatal("want an error")
	}
	if _, err := stream(t.Context(), conn, schemas.Analysis{Context: pumps, Target: "H",
		Calls: []schemas.ToolCall{{Name: "inspect_schema", Input: []byte(`{"data_key":"site.pumps"}`)}}}); err != nil {
		t.Fatal(err)
	}
	failed := runs(t.Context(), t, conn, schemas.RunQuery{State: schemas.RunFailed}, 1)[0]
	if failed.Code != "AN-500" || failed.Query != "a failure" || failed.User != "" {
		t.Errorf("got %+v", failed)
	}
	if done := runs(t.Context(), t, conn, schemas.RunQuery{State: schemas.RunDone}, 1)[0]; done.Usage.ToolCalls != 1 ||
		done.Model != "" || done.Code != "" {
		t.Errorf("got %+v", done)
	}
	runs(t.Context(), t, conn, schemas.RunQuery{}, 2)
	runs(t.Context(), t, conn, schemas.RunQuery{State: schemas.RunRunning}, 0)
}

func TestSummaryOfCanceledRun(t *testing.T) {
	t.Parallel()
	conn := summarized(t)
	m, _ := scripted(t, modeltest.Turn{Text: []string{"one ", "two"}, Gate: gate(1)})
	serve(t, conn, m, "")
	name := bus.NewRun()
	for _, err := range bus.Analyze.Run(t.Context(), conn, name, body(t, analysisOf("how many pumps are on?"))) {
		if err != nil {
			t.Fatal(err)
		}
		if err := bus.Analyze.Cancel(t.Context(), conn, name); err != nil {
			t.Fatal(err)
		}
	}
	got := runs(t.Context(), t, conn, schemas.RunQuery{State: schemas.RunCanceled, Model: m.Name()}, 1)[0]
	if got.Run != name || got.Code != schemas.ErrRunStopped.Code {
		t.Errorf("got %+v", got)
	}
}

func TestSummariesOfTenants(t *testing.T) {
	t.Parallel()
	conn := summarized(t)
	serve(t, conn, offline.New(), "")
	callers := map[string]context.Context{
		"acme": as(t, "k1", "acme"), "globex": as(t, "k2", "globex"), "both": as(t, "k3", "acme", "globex"),
		"all": as(t, "k4"),
	}
	for _, name := range []string{"acme", "globex", "both", "all"} {
		if _, err := stream(callers[name], conn, analysisOf("how many pumps are on? "+name)); err != nil {
			t.Fatal(err)
		}
		runs(callers["all"], t, conn, schemas.RunQuery{User: bus.Identity(callers[name]).ID}, 1) // in order
	}
	for name, want := range map[string]string{"acme": "acme", "globex": "globex", "both": "both", "all": "all   "} {
		var questions []string
		for _, r := range runs(callers[name], t, conn, schemas.RunQuery{}, len(strings.Split(want, " "))) {
			questions = append(questions, strings.TrimPrefix(r.Query, "how many pumps are on? "))
		}
		if got := strings.Join(questions, " "); got != want {
			t.Errorf("questions of the runs of %s: got %q, want %q", name, got, want)
		}
	}
	runs(callers["globex"], t, conn, schemas.RunQuery{User: "k1"}, 0)
	runs(callers["all"], t, conn, schemas.RunQuery{User: "*"}, 0)
	if none, err := bus.ListRuns.Call(as(t, "k5", "none"), conn, schemas.RunQuery{}); err != nil || len(none.Runs) > 0 {
		t.Errorf("another tenant lists %+v, %v", none, err)
	}
}

func TestPagesOfSummaries(t *testing.T) {
	t.Parallel()
	conn := summarized(t)
	serve(t, conn, offline.New(), "")
	var want []string
	for i := range 5 {
		want = append([]string{fmt.Sprint(i)}, want...)
		answered(t, conn, analysisOf(fmt.Sprint(i)))
	}
	list := runs(t.Context(), t, conn, schemas.RunQuery{}, 5)
	var got []string
	for q := (schemas.RunQuery{Limit: new(2)}); ; {
		page, err := bus.ListRuns.Call(t.Context(), conn, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Runs {
			got = append(got, r.Query)
		}
		if page.NextCursor == nil {
			break
		}
		q.Cursor = *page.NextCursor
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if since := runs(t.Context(), t, conn, schemas.RunQuery{Since: list[1].StartedAt}, 2); since[1].Query != "3" {
		t.Errorf("since the start of the fourth: %+v", since)
	}
	for name, q := range map[string]schemas.RunQuery{
		"a time in words":             {Since: "yesterday"},
		"a user that is too long":     {User: strings.Repeat("u", 257)},
		"a model that is too long":    {Model: strings.Repeat("m", 257)},
		"a cursor of another listing": {Cursor: "dGFj"},
	} {
		if _, err := bus.ListRuns.Call(t.Context(), conn, q); !errors.Is(err, schemas.ErrMalformed) {
			t.Errorf("%s: got %v, want %v", name, err, schemas.ErrMalformed)
		}
	}
}

func TestListWithoutSummaryStream(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	if err := bus.Analyze.Setup(t.Context(), conn, bucket.Replication{}); err != nil {
		t.Fatal(err)
	}
	serve(t, conn, offline.New(), "")
	name := bus.NewRun()
	for _, err := range bus.Analyze.Run(t.Context(), conn, name, body(t, analysisOf("how many pumps are on?"))) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := runs(t.Context(), t, conn, schemas.RunQuery{}, 1)[0]; got.Run != name || got.Query != "" {
		t.Errorf("got %+v", got)
	}
}
