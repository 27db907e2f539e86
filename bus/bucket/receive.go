package bucket

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// endInterval is the time without a message after which ReceiveAll checks whether it has reached the end.
	endInterval = time.Second
	// receiveTimeout bounds the wait for the next message: a server that starts, or is busy, may pause.
	receiveTimeout = 30 * time.Second
	// defaultPull is the number of messages that a consumer requests at a time.
	defaultPull = 500
)

// ReceiveAll calls take with the messages of the consumer until it returns false or there are no more. It requests
// pull messages at a time; 0: defaultPull.
func ReceiveAll(ctx context.Context, consumer jetstream.Consumer, pull int,
	take func(jetstream.Msg, *jetstream.MsgMetadata) bool) error {
	if consumer.CachedInfo().NumPending == 0 {
		return nil
	}
	if pull == 0 {
		pull = defaultPull
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(pull))
	if err != nil {
		return err
	}
	defer messages.Stop()
	received := time.Now()
	for {
		msg, err := messages.Next(jetstream.NextMaxWait(endInterval))
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, nats.ErrTimeout) && time.Since(received) < receiveTimeout:
			if info, err := consumer.Info(ctx); err == nil && info.NumPending == 0 {
				return nil // the last messages were removed meanwhile
			}
			continue
		case err != nil:
			return err
		}
		received = time.Now()
		meta, err := msg.Metadata()
		if err != nil {
			return err
		}
		if !take(msg, meta) || meta.NumPending == 0 {
			return nil
		}
	}
}
