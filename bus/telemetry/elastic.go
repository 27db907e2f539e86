package telemetry

import (
	"context"
	"reflect"
	"strings"

	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
)

// Search starts the span of a request to Elasticsearch, named after the operation.
func Search(ctx context.Context, request any, host string) (context.Context, Span) {
	operation := strings.ToLower(strings.TrimSuffix(reflect.TypeOf(request).Name(), "Request"))
	ctx, s := start(ctx, asClient, operation, "elasticsearch", false)
	s.set(semconv.DBSystemNameElasticsearch, semconv.DBOperationName(operation), semconv.ServerAddress(host))
	return ctx, s
}
