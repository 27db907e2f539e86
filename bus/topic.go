package bus

import (
	"log/slog"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
)

// Topic is a subject on which each T is delivered to all current subscribers.
type Topic[T any] struct {
	Subject string
	Summary string // of the messages, in one line
}

// Publish publishes v, at most once.
func (t Topic[T]) Publish(c *Conn, v T) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := c.nc.Publish(t.Subject, body); err != nil {
		return transportError(t.Subject, err)
	}
	return nil
}

// Subscribe calls receive with each later message, one at a time, including those
// that c publishes. Messages sent while c is disconnected are lost. stop unsubscribes and
// returns when receive no longer runs.
func (t Topic[T]) Subscribe(c *Conn, receive func(T)) (stop func(), err error) {
	sub, err := c.nc.Subscribe(t.Subject, func(msg *nats.Msg) {
		var v T
		if err := json.Unmarshal(msg.Data, &v); err != nil {
			slog.Warn("invalid message ignored", "subject", t.Subject, "err", err)
			return
		}
		receive(v)
	})
	if err != nil {
		return nil, transportError(t.Subject, err)
	}
	ended := make(chan struct{})
	sub.SetClosedHandler(func(string) { close(ended) })
	if c.Connected() {
		_ = c.nc.Flush() // when disconnected, the subscription is sent on reconnect
	}
	return func() {
		if sub.Unsubscribe() == nil {
			<-ended
		}
	}, nil
}

// Operation describes the subject of t.
func (t Topic[T]) Operation() Operation {
	return Operation{Announcement, t.Subject, t.Summary, "", reflect.TypeFor[T](), nil}
}
