package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// chunkTime bounds the transfer of one chunk. The last one is acknowledged when the
// whole stream is stored.
const chunkTime = time.Minute

// copyStream copies the stream of the name, with messages, sequences and consumers,
// from one server to another. change edits its configuration.
func copyStream(ctx context.Context, from, to *Conn, name string, change func(*jetstream.StreamConfig)) error {
	inbox := from.nc.NewInbox()
	pieces, err := from.nc.SubscribeSync(inbox)
	if err != nil {
		return fmt.Errorf("copy stream %s: %w", name, err)
	}
	defer func() { _ = pieces.Unsubscribe() }() // fails only on a closed connection
	var taken struct {
		Config jetstream.StreamConfig `json:"config"`
		State  json.RawMessage        `json:"state"`
	}
	if err := from.api(ctx, "STREAM.SNAPSHOT."+name, map[string]any{"deliver_subject": inbox}, &taken); err != nil {
		return fmt.Errorf("snapshot stream %s: %w", name, err)
	}
	change(&taken.Config)
	var given struct {
		Deliver string `json:"deliver_subject"`
	}
	if err := to.api(ctx, "STREAM.RESTORE."+name, map[string]any{"config": taken.Config, "state": taken.State}, &given); err != nil {
		return fmt.Errorf("restore stream %s: %w", name, err)
	}
	for {
		piece, err := pieces.NextMsgWithContext(ctx)
		if err != nil {
			return fmt.Errorf("snapshot stream %s: %w", name, err)
		}
		if len(piece.Data) == 0 {
			return finishCopy(ctx, to, given.Deliver, piece)
		}
		if _, err := to.request(ctx, given.Deliver, piece.Data); err != nil {
			return fmt.Errorf("restore stream %s: %w", name, err)
		}
		_ = piece.Respond(nil) // flow control; if the reply is lost, NextMsg times out
	}
}

// finishCopy finishes a restore; last is the final message of the snapshot.
func finishCopy(ctx context.Context, to *Conn, deliver string, last *nats.Msg) error {
	if status := last.Header.Get("Status"); status != "" && status != "204" {
		return fmt.Errorf("snapshot: %s %s", status, last.Header.Get("Description"))
	}
	reply, err := to.request(ctx, deliver, nil)
	if err != nil {
		return err
	}
	return apiError(reply.Data)
}

// api sends a JetStream API request that the client library does not offer.
func (c *Conn) api(ctx context.Context, subject string, request, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	reply, err := c.request(ctx, "$JS.API."+subject, body)
	if err != nil {
		return err
	}
	return errors.Join(apiError(reply.Data), json.Unmarshal(reply.Data, answer))
}

func (c *Conn) request(ctx context.Context, subject string, body []byte) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, chunkTime)
	defer cancel()
	return c.nc.RequestWithContext(ctx, subject, body)
}

// apiError returns the error in a reply of the JetStream API, or nil.
func apiError(answer []byte) error {
	var e struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(answer, &e); err != nil || e.Error == nil {
		return err
	}
	return e.Error
}
