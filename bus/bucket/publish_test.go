package bucket_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"

	"cairn/bus/bucket"
	"cairn/schemas"
)

func TestWithReplyMarginErrors(t *testing.T) {
	t.Parallel()
	unrelated := errors.New("other")
	for _, c := range []struct{ err, want error }{
		{nil, nil},
		{unrelated, unrelated},
		{fmt.Errorf("write a fence: %w", context.DeadlineExceeded), schemas.ErrUnavailable},
		{nats.ErrTimeout, schemas.ErrUnavailable},
	} {
		if err := bucket.WithReplyMargin(t.Context(), "tag store",
			func(context.Context) error { return c.err }); !errors.Is(err, c.want) {
			t.Errorf("%v: got %v, want %v", c.err, err, c.want)
		}
	}
	left, leave := context.WithCancel(t.Context())
	leave()
	err := bucket.WithReplyMargin(left, "tag store", func(ctx context.Context) error { return ctx.Err() })
	if !errors.Is(err, context.Canceled) || errors.Is(err, schemas.ErrUnavailable) {
		t.Errorf("after the caller canceled: %v", err)
	}
}
