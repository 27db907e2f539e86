package catalog

import (
	"context"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"cairn/bus"
	"cairn/schemas"
)

// headerOrigin is the header of a write with the schemas.Origin of its request, as JSON.
const headerOrigin = "Cairn-Origin"

// newMessage adds the origin of ctx, if it has one, to a write.
func newMessage(ctx context.Context, msg *nats.Msg) *nats.Msg {
	if text := originOf(ctx); text != "" {
		msg.Header.Set(headerOrigin, text)
	}
	return msg
}

// originOf returns the origin of ctx as JSON; empty: none.
func originOf(ctx context.Context) string {
	o := bus.Origin(ctx)
	if o == (schemas.Origin{}) {
		return ""
	}
	text, _ := json.Marshal(o) // fails for invalid UTF-8, which no credential and no message contains
	return string(text)
}

// origin is the text of a schemas.Origin, decoded on demand: followers, which read every revision, need none.
type origin string

// Origin returns the request that has written the revision; zero: unknown.
func (text origin) Origin() (o schemas.Origin) {
	_ = json.Unmarshal([]byte(text), &o) // empty, or written by another version
	return o
}
