package edge

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"cairn/bus"
	"cairn/bus/telemetry"
	"cairn/edge/a2a"
	"cairn/edge/describe"
	"cairn/schemas"
)

const (
	agentCardPath = "/.well-known/agent-card.json"
	// agentCardMaxAge is the Cache-Control of the agent card.
	agentCardMaxAge = "max-age=300"
	// a2aCopies is the memory of a message besides its body, in multiples of the body: its parts, and the
	// request to a worker.
	a2aCopies = 4
)

// publicAgentCard returns an action that responds with the agent card of the analysis agent.
func publicAgentCard() action {
	return withETag(action{
		Spec: describe.Spec{
			Open: true, Reply: reflect.TypeFor[schemas.AgentCard](), Invalid: schemas.ErrMalformed,
			Summary: "The agent card of the analysis agent (A2A)", Group: "a2a",
		},
		answer: func(x *exchange) error {
			base := baseURL(x.r)
			if base == "" {
				return schemas.ErrMalformed.With(schemas.FieldError{Field: "Host", Message: "required: the card contains URLs"})
			}
			card, err := a2a.Card(base, x.edge.authenticator != nil, x.edge.authenticator.Issuers())
			if err != nil {
				return err
			}
			h := x.w.Header()
			h["Cache-Control"] = []string{agentCardMaxAge}
			h.Add("Vary", "X-Forwarded-Proto")
			x.reply(bus.Reply{Body: card})
			return nil
		},
	})
}

// agentRPC returns an action that answers a request of A2A.
func agentRPC(analysis bus.Stream[schemas.Analysis]) action {
	agent := a2a.New(a2a.Tasks())
	return action{
		Spec: describe.Spec{
			Permission: analysis.Permission,
			Summary:    "Agent2Agent protocol (JSON-RPC): messages to the analysis agent, and its tasks", Group: "a2a",
			Request: reflect.TypeFor[schemas.RPCRequest](), Reply: reflect.TypeFor[schemas.RPCResponse](),
			Invalid: analysis.Invalid, Translate: analysis.Errors,
		},
		answer: func(x *exchange) error { return serveAgent(x, agent, analysis) },
	}
}

// serveAgent answers a request of the Agent2Agent protocol. It counts as a stream of the caller.
func serveAgent(x *exchange, agent *a2a.Handler, analysis bus.Stream[schemas.Analysis]) error {
	release, err := enterStream(x)
	if err != nil {
		return err
	}
	defer release()
	defer telemetry.StreamOpened()()
	body, err := x.readBody(analysis.MaxBody)
	if err != nil {
		return err
	}
	if !x.body.acquire(a2aCopies * int64(len(body))) {
		return errBodyMemory
	}
	ctx, cancel := streamContext(x)
	defer cancel()
	reply, events := agent.Serve(x.r.WithContext(ctx), body, agentCaller{x, analysis})
	if events == nil {
		if err := cmp.Or(x.r.Context().Err(), ctx.Err()); err != nil {
			return streamError(ctx, err)
		}
		x.write(http.StatusOK, mediaJSON, reply)
		return nil
	}
	out := newStream(x, "")
	defer out.begin(cancel)()
	for event := range events {
		if err := out.send(event); err != nil {
			return err
		}
	}
	if err := cmp.Or(x.r.Context().Err(), ctx.Err()); err != nil { // an interrupted stream is not complete
		return streamError(ctx, err)
	}
	return out.finish()
}

// agentCaller implements a2a.Caller.
type agentCaller struct {
	x        *exchange
	analysis bus.Stream[schemas.Analysis]
}

func (c agentCaller) AuthorizeTenant(tenant string) error {
	if tenant == "" || !c.x.caller.Bound() || slices.Contains(c.x.caller.Tenants, tenant) {
		return nil
	}
	return schemas.ErrForbidden.With(schemas.FieldError{
		Field: "tenant", Message: "expected a tenant of the credential: " + strings.Join(c.x.caller.Tenants, ", "),
	})
}

func (c agentCaller) NewRun(prefix string) string { return bus.NameRun(c.x.caller, prefix) }

func (c agentCaller) Owns(run string) bool { return bus.OwnsRun(c.x.caller, run) }

func (c agentCaller) Start(ctx context.Context, newName func() string, body []byte) iter.Seq2[bus.Event, error] {
	return c.analysis.Start(ctx, c.x.edge.conn, newName, body)
}

func (c agentCaller) ReleaseBody() { c.x.body.release() }

func (c agentCaller) Resume(ctx context.Context, run string, after uint64) iter.Seq2[bus.Event, error] {
	return c.analysis.Resume(ctx, c.x.edge.conn, run, after)
}

func (c agentCaller) Snapshot(ctx context.Context, run string) iter.Seq2[bus.Event, error] {
	return c.analysis.Snapshot(ctx, c.x.edge.conn, run)
}

func (c agentCaller) Stored(ctx context.Context) ([]bus.StoredRun, error) {
	return c.analysis.Stored(ctx, c.x.edge.conn, c.x.caller)
}

func (c agentCaller) Cancel(ctx context.Context, run string) error {
	return c.analysis.Cancel(ctx, c.x.edge.conn, run)
}

func (c agentCaller) Acquire(n int64) bool { return c.x.body.acquire(n) }

func (c agentCaller) PublicError(err error) *schemas.Error { return c.x.publicError(err) }
