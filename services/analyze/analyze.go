// Package analyze answers questions about an estate: a model writes the answer, and
// two tools compute every figure of it from the estate.
package analyze

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"cairn/bus"
	"cairn/bus/admission"
	"cairn/bus/telemetry"
	"cairn/schemas"
	"cairn/services/internal/estate"
	"cairn/services/internal/model"
	"cairn/services/internal/model/plan"
)

// Deps holds the dependencies of the service.
type Deps struct {
	Conn   *bus.Conn // to the rendering agent
	Model  model.Model
	Render string // subject of the rendering agent; empty: the model's text is the answer
	// Memory bounds the bytes that all runs reserve, shared among tenants. A run
	// that exceeds it is refused before its body is received.
	Memory int64
	// EstateMemory bounds the bytes of idle estates in the cache. They take only
	// memory that no run has reserved.
	EstateMemory int64
	Grace        time.Duration // how long a run continues after its client has disconnected
	Runs         int           // concurrent analyses of one credential at this worker; 0: unlimited
	Log          *slog.Logger
}

// Serve registers the handlers of the service on s.
func Serve(s *bus.Service, d Deps) error {
	a := analyzer{Deps: d, estates: newCache(d.Memory, d.EstateMemory), cpus: admission.NewLongPool(),
		summaries: summaries{d.Conn.JetStream(), admission.NewPool(maxLists)}}
	telemetry.MemoryBudget("analysis", d.Memory, a.estates.pool.Used)
	stream := bus.Analyze
	stream.Grace, stream.Runs, stream.Admit = d.Grace, d.Runs, a.admit
	return errors.Join(
		stream.ServeBody(s, a.analyze),
		bus.ListRuns.Serve(s, a.listRuns),
		bus.ServeHealth(s, "analyze", a.health, nil),
	)
}

type analyzer struct {
	Deps
	estates *cache
	cpus    *admission.Pool // for reading estates and for computations
	summaries
}

// analyze answers the question in body.
func (a analyzer) analyze(ctx context.Context, body []byte, sender bus.Sender) error {
	began := time.Now()
	req, text, err := read(body)
	if err != nil {
		return err
	}
	sender.Begin()
	if req.OnDisconnect == schemas.OnDisconnectContinue {
		sender.Persist()
	}
	r := &run{Sender: sender, started: began}
	err = a.answer(ctx, req, text, r)
	if err := a.record(began, r.summary(ctx, req, err), bus.Identity(ctx)); err != nil {
		a.Log.WarnContext(ctx, "an analysis has no summary", "err", err)
	}
	a.Log.DebugContext(ctx, "analysis", "client_id", fmt.Sprintf("%.64s", req.ID), "client_request_id",
		fmt.Sprintf("%.64s", req.RequestID),
		"mode", req.Mode, "context_bytes", len(text), "took", time.Since(began), "ok", err == nil)
	return err
}

func (a analyzer) answer(ctx context.Context, req schemas.Analysis, text []byte, r *run) error {
	release, err := admission.Acquire(ctx, a.cpus, 1)
	defer release()
	if err != nil {
		return err
	}
	e, done, err := a.estates.open(ctx, text, reserved(ctx))
	var syntax *estate.SyntaxError
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, schemas.ErrUnavailable):
		return err
	case errors.As(err, &syntax): // the contract requires status 500
		return bus.CallerError(schemas.ErrInternal.Because("context: " + err.Error()))
	case err != nil:
		return schemas.ErrInternal.Because("context: " + err.Error())
	}
	defer done()
	ctx = estate.WithMemory(ctx, reserved(ctx))
	if len(req.Calls) > 0 {
		release()
		r.usage.ToolCalls = len(req.Calls)
		return compute(ctx, req.Calls, tools{e, a.cpus}, r)
	}
	question := plan.Ask(plan.New(ctx, e), req.Query)
	release() // the computations of a loop acquire a CPU each
	profile, err := a.Model.Profile(ctx)
	if err != nil {
		return callerError(ctx, fmt.Errorf("read the model profile: %w", err))
	}
	r.model = a.Model.Name()
	budget := newBudget(profile.Window)
	l := &loop{
		model: a.Model, tools: tools{e, a.cpus}, sender: r, buffered: a.Render != "", budget: budget,
		answers:  profile.Answers,
		question: req.Query, intent: question.Intent(), noun: question.Noun, notes: map[string][]string{},
	}
	defer func() { r.usage = l.usage }()
	if profile.Plan == model.PlanSchema {
		p := planned{loop: l, linked: question, history: newest(req.History(), budget.prompt)}
		err = p.answer(ctx, req.Mode)
	} else {
		l.conversation = conversation(req, e, question, budget)
		err = l.run(ctx)
	}
	if err != nil {
		return callerError(ctx, err)
	}
	if a.Render != "" {
		if err := a.render(ctx, req, l, r); err != nil {
			return err
		}
	}
	return l.add(ctx, req)
}

// compute runs the calls of the request, and sends each result before the next call: it keeps none in memory.
func compute(ctx context.Context, calls []schemas.ToolCall, t tools, sender bus.Sender) error {
	for i, c := range calls {
		call := model.Call{ID: fmt.Sprintf("call_%d", i+1), Name: c.Name, Input: []byte(c.Input)}
		r, err := t.run(ctx, call, maxResult)
		if err != nil {
			return err
		}
		if err := r.send(sender); err != nil {
			return err
		}
	}
	return nil
}

// callerError translates a failure of the model into the caller's error. The
// contract defines each as a 500, an unavailable model included.
func callerError(ctx context.Context, err error) error {
	var incomplete model.IncompleteError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &incomplete), errors.Is(err, model.ErrUnavailable), errors.Is(err, model.ErrTooLong):
		return fmt.Errorf("%w: %w", schemas.ErrInternal.Because("model call failed: "+err.Error()), err)
	default:
		return err
	}
}

// health reports degraded when the model is unavailable.
func (a analyzer) health(ctx context.Context) (schemas.Health, error) {
	h := schemas.Health{
		Service:  "analyze",
		Status:   schemas.StatusOK,
		Version:  bus.Version,
		Backends: map[string]string{"model": a.Model.Name()},
	}
	if err := a.Model.Check(ctx); err != nil {
		h.Status = schemas.StatusDegraded
		h.Degraded = []string{"model: " + err.Error()}
	}
	return h, nil
}

// admit reserves the memory of a run with a body of size bytes before the body is
// received, and evicts idle estates to make room; release returns the memory.
func (a analyzer) admit(ctx context.Context, size int) (admitted context.Context, release func(), err error) {
	r := &reservation{pool: a.estates.pool, tenant: bus.AdmissionKey(bus.Identity(ctx), nil)}
	if !r.resize(runMemory + bodyFactor*int64(size)) {
		return ctx, nil, errMemory
	}
	a.estates.evict()
	return context.WithValue(ctx, reservationKey{}, r), func() { r.resize(0) }, nil
}

// render sends the finished analysis to the rendering agent and streams its text. When
// the agent is unavailable, or fails before its first text, render sends the plain
// answer as a direct_response.
func (a analyzer) render(ctx context.Context, req schemas.Analysis, l *loop, sender bus.Sender) error {
	agent := bus.Stream[schemas.Rendering]{Subject: a.Render, Timeout: renderTimeout}
	finished := schemas.Rendering{
		Query: req.Query, Mode: req.Mode, Answer: l.answer.String(), ToolUses: []schemas.ToolUse{},
		Prompt: req.Prompt, Profile: req.Profile,
	}
	for _, r := range l.results {
		finished.ToolUses = append(finished.ToolUses, r.toolUse())
		finished.ToolResults = append(finished.ToolResults, r.answer)
	}
	var rendered strings.Builder
	timeout := renderTimeout
	if deadline, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(deadline)-sendReserve)
	}
	waiting, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for event, err := range agent.Call(waiting, a.Conn, finished) {
		if err == nil && event.Type == schemas.EventError {
			err = agentError(event.Data)
		}
		switch {
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case err != nil && rendered.Len() > 0:
			return schemas.ErrUnavailable.Because("rendering agent: " + err.Error())
		case err != nil:
			return sender.Send(schemas.EventDirectResponse, directResponse(l.answer.String(), err))
		case event.Type != schemas.EventTextDelta:
			continue
		}
		var delta schemas.TextDelta
		if err := json.Unmarshal(event.Data, &delta); err != nil {
			return schemas.ErrUnavailable.Because("rendering agent: invalid text_delta: " + err.Error())
		}
		if err := sender.Send(schemas.EventTextDelta, delta); err != nil {
			return err
		}
		rendered.WriteString(delta.Text)
	}
	if rendered.Len() == 0 {
		return sender.Send(schemas.EventDirectResponse, directResponse(l.answer.String(), errors.New("empty answer")))
	}
	l.answer.Reset()
	l.answer.WriteString(rendered.String()) // provenance covers the text that the caller receives
	return nil
}

// listRuns lists the runs of the caller's tenants: those whose events are stored, and those with a summary.
func (a analyzer) listRuns(ctx context.Context, q schemas.RunQuery) (list schemas.RunList, err error) {
	caller := bus.Identity(ctx)
	events, err := bus.Analyze.Stored(ctx, a.Conn, caller)
	if err != nil {
		return list, err
	}
	ended, err := a.find(ctx, q, caller)
	if err != nil {
		return list, err
	}
	since, _ := time.Parse(time.RFC3339, q.Since) // validated; empty: the zero time
	runs := slices.DeleteFunc(events, func(r bus.StoredRun) bool {
		return ended[r.Name] != nil || q.State != "" && q.State != r.State || q.User != "" || q.Model != ""
	})
	for _, s := range ended {
		runs = append(runs, s.StoredRun)
	}
	runs = slices.DeleteFunc(runs, func(r bus.StoredRun) bool { return r.Started.Before(since) })
	page, next, err := bus.PageOfRuns(runs, func(r bus.StoredRun) time.Time { return r.Started }, q.Cursor,
		schemas.ValueOr(q.Limit, schemas.DefaultLimit))
	if err != nil {
		return list, schemas.ErrCursor
	}
	list = schemas.RunList{Runs: make([]schemas.RunSummary, len(page)), NextCursor: schemas.Optional(next)}
	for i, r := range page {
		list.Runs[i] = schemas.RunSummary{
			Run: r.Name, State: r.State, StartedAt: r.Started.UTC().Format(time.RFC3339Nano),
			UpdatedAt: r.Updated.UTC().Format(time.RFC3339Nano),
		}
	}
	return list, a.read(ctx, list.Runs, ended, caller)
}
