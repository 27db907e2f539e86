package bus

import (
	"context"
	"strings"

	"github.com/nats-io/nats.go"

	"cairn/schemas"
)

type preconditionKey struct{}

// WithPrecondition returns ctx for a write that is performed only if p permits it.
func WithPrecondition(ctx context.Context, p schemas.Precondition) context.Context {
	return context.WithValue(ctx, preconditionKey{}, p)
}

// Precondition returns the precondition of ctx, which permits everything if it has none.
func Precondition(ctx context.Context) schemas.Precondition {
	p, _ := ctx.Value(preconditionKey{}).(schemas.Precondition)
	return p
}

// setPrecondition adds the precondition of ctx to the headers of a request.
func setPrecondition(ctx context.Context, header nats.Header) {
	p := Precondition(ctx)
	if p.IfMatch != "" {
		header.Set(HeaderIfMatch, p.IfMatch)
	}
	if p.IfNoneMatch != "" {
		header.Set(HeaderIfNoneMatch, p.IfNoneMatch)
	}
}

// readPrecondition returns the precondition in the headers of a request, or ErrMalformed.
func readPrecondition(values func(string) []string) (p schemas.Precondition, err error) {
	p = schemas.Precondition{IfMatch: strings.Join(values(HeaderIfMatch), ","), IfNoneMatch: strings.Join(values(HeaderIfNoneMatch), ",")}
	return p, p.Validate()
}
