package bus

import (
	"log/slog"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
)

// Topic is a subject on which a T is told to everyone who listens just then.
type Topic[T any] struct{ Subject string }

// Publish tells v. Nobody says whether it was heard.
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

// Subscribe calls hear with what is told from now on, one at a time, also by c
// itself. What comes while the connection is lost is missed. stop returns when
// hear runs no more.
func (t Topic[T]) Subscribe(c *Conn, hear func(T)) (stop func(), err error) {
	sub, err := c.nc.Subscribe(t.Subject, func(msg *nats.Msg) {
		var v T
		if err := json.Unmarshal(msg.Data, &v); err != nil {
			slog.Warn("message not understood", "subject", t.Subject, "err", err)
			return
		}
		hear(v)
	})
	if err != nil {
		return nil, transportError(t.Subject, err)
	}
	ended := make(chan struct{})
	sub.SetClosedHandler(func(string) { close(ended) })
	if c.Connected() {
		_ = c.nc.Flush() // a server that is away is told on its return
	}
	return func() {
		if sub.Unsubscribe() == nil {
			<-ended
		}
	}, nil
}
