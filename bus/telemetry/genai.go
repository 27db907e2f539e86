package telemetry

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
)

// Model identifies a language model in telemetry, without its URL, which may contain a password.
type Model struct{ Provider, Name, Host string }

// ModelOf returns the model that a URL names: ollama://host/name, openai://host/name or offline:.
func ModelOf(rawURL string) Model {
	u, err := url.Parse(rawURL)
	if err != nil {
		return Model{"unknown", "unknown", ""}
	}
	provider, _, _ := strings.Cut(u.Scheme, "+")
	return Model{provider, cmp.Or(strings.Trim(u.Path, "/"), provider), u.Hostname()}
}

// Inference is a request to a language model.
type Inference struct {
	model Model
	span  Span
	began time.Time
	chats bool
}

// Chat starts a request for the model's next message; the caller ends it.
func Chat(ctx context.Context, m Model) (context.Context, Inference) {
	ctx, i := infer(ctx, m, semconv.GenAIOperationNameChat)
	i.chats = true
	i.Tokens(0, 0) // initialize the counters
	return ctx, i
}

// Embed starts a request for vectors; the caller ends it.
func Embed(ctx context.Context, m Model) (context.Context, Inference) {
	return infer(ctx, m, semconv.GenAIOperationNameEmbeddings)
}

func infer(ctx context.Context, m Model, operation attribute.KeyValue) (context.Context, Inference) {
	ctx, s := start(ctx, asClient, operation.Value.AsString(), m.Name, false)
	s.set(operation, semconv.GenAIProviderNameKey.String(m.Provider), semconv.GenAIRequestModel(m.Name))
	if m.Host != "" {
		s.set(semconv.ServerAddress(m.Host))
	}
	return ctx, Inference{model: m, span: s, began: time.Now()}
}

// Tokens counts the model's input and output tokens; negative values are ignored.
func (i Inference) Tokens(input, output int) {
	input, output = max(0, input), max(0, output)
	modelTokens.WithLabelValues(i.model.Name, "input").Add(float64(input))
	modelTokens.WithLabelValues(i.model.Name, "output").Add(float64(output))
	if input+output > 0 {
		i.span.set(semconv.GenAIUsageInputTokens(input), semconv.GenAIUsageOutputTokens(output))
	}
}

// End ends the request with its error, if any.
func (i Inference) End(err error) {
	outcome := "ok"
	switch {
	case errors.Is(err, context.Canceled):
		outcome = "cancelled"
	case err != nil:
		outcome = "error"
		i.span.fail("model_call_failed")
	}
	if i.chats {
		modelDuration.WithLabelValues(i.model.Name, outcome).Observe(time.Since(i.began).Seconds())
	}
	i.span.End()
}

// ToolCall starts a model's call of a known tool; the caller calls end.
func ToolCall(ctx context.Context, tool, callID string) (_ context.Context, end func()) {
	began := time.Now()
	ctx, s := start(ctx, asInternal, "execute_tool", tool, false)
	s.set(semconv.GenAIOperationNameExecuteTool, semconv.GenAIToolName(tool), semconv.GenAIToolType("function"),
		semconv.GenAIToolCallID(callID))
	return ctx, func() {
		toolDuration.WithLabelValues(tool).Observe(time.Since(began).Seconds())
		s.End()
	}
}
