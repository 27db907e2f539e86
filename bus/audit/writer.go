package audit

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
	"cairn/bus/retry"
	"cairn/schemas"
)

// maxPending is the number of entries that a Writer retries, of at most about 3.5 KiB each.
const maxPending = 10_000

// Writer adds entries of changes that are stored. It retries those that fail until it is closed. It may be used
// concurrently.
type Writer struct {
	js      jetstream.JetStream
	pending chan *nats.Msg // nil after the last one
	stop    context.CancelFunc
	done    chan struct{}
}

// StartWriter returns a Writer, which the caller closes.
func StartWriter(js jetstream.JetStream) *Writer {
	ctx, stop := context.WithCancel(context.Background())
	w := &Writer{js, make(chan *nats.Msg, maxPending), stop, make(chan struct{})}
	go w.run(ctx)
	return w
}

// Close waits until the pending entries are stored, or ctx ends. RecoverAudit of services/register adds the others.
func (w *Writer) Close(ctx context.Context) {
	defer w.stop()
	defer context.AfterFunc(ctx, w.stop)()
	select {
	case w.pending <- nil:
	case <-ctx.Done():
	}
	<-w.done
}

// Add stores an entry as the function Add does. An entry that is not stored in time is retried, which the error says.
func (w *Writer) Add(ctx context.Context, e schemas.AuditEntry) error {
	msg, err := newMessage(e)
	if err != nil {
		return err
	}
	if err = publish(context.WithoutCancel(ctx), w.js, msg); err == nil {
		return nil
	}
	detail := "the change is stored, but the audit log " + cmp.Or(bucket.Refusal(err), "is unavailable")
	if w.enqueue(msg) {
		detail += ": its entry follows"
	}
	return fmt.Errorf("%w: %w", schemas.ErrUnavailable.Because(detail), err)
}

// Enqueue adds an entry without waiting for its acknowledgement.
func (w *Writer) Enqueue(e schemas.AuditEntry) error {
	msg, err := newMessage(e)
	if err == nil {
		w.enqueue(msg)
	}
	return err
}

// enqueue reports whether fewer than maxPending entries were pending.
func (w *Writer) enqueue(msg *nats.Msg) bool {
	select {
	case w.pending <- msg:
		return true
	default:
		slog.Error("an entry of the audit log is lost: too many are pending", "entry", string(msg.Data))
		return false
	}
}

// run stores the pending entries.
func (w *Writer) run(ctx context.Context) {
	defer close(w.done)
	for ctx.Err() == nil {
		select {
		case msg := <-w.pending:
			if msg == nil {
				return
			}
			always := func(error) bool { return true }
			if err := retry.Do(ctx, always, func() error { return publish(ctx, w.js, msg) }); err != nil {
				slog.Error("entries of the audit log are not stored", "first", string(msg.Data), "others", len(w.pending),
					"err", err)
			}
		case <-ctx.Done():
		}
	}
}
