package telemetry

import (
	"context"
	"reflect"
	"strconv"
	"strings"

	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
)

// Search starts the span of a request to Elasticsearch, named after the operation.
func Search(ctx context.Context, request any, host string) (context.Context, Span) {
	if tracing.Load() == nil {
		return ctx, Span{}
	}
	operation := strings.ToLower(strings.TrimSuffix(reflect.TypeOf(request).Name(), "Request"))
	ctx, s := start(ctx, asClient, operation, "elasticsearch", false)
	if s.span != nil {
		s.set(semconv.DBSystemNameElasticsearch, semconv.DBOperationName(operation), semconv.ServerAddress(host))
	}
	return ctx, s
}

// Searched ends the span with the HTTP status of the response; 0: none.
func (s Span) Searched(status int) {
	if s.span == nil {
		return
	}
	if status > 0 {
		s.set(semconv.DBResponseStatusCode(strconv.Itoa(status)))
	}
	if status == 0 || status >= 400 {
		s.fail(strconv.Itoa(status))
	}
	s.End()
}
