package bucket

import (
	"context"
	"fmt"
	"time"

	"cairn/schemas"
)

// patience is how long a bucket is waited for. A cluster that works answers in
// milliseconds; one that has lost its leader, or its quorum, does not answer for
// seconds, and whoever asks is better told at once than left waiting.
const patience = 3 * time.Second

// Bounded is what do says, or schemas.ErrUnavailable when it takes longer than
// a bucket is waited for. Then it is open whether a write was done.
func Bounded(ctx context.Context, do func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := do(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%w: %w", schemas.ErrUnavailable.Because("NATS does not say in time that it is kept, or what is: its cluster may have no quorum, or elect a leader"), err)
	}
	return err
}
