package bus_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
)

// TestRepliesGoToInboxes sends requests with reply subjects to which a worker may publish
// but the requester may not.
func TestRepliesGoToInboxes(t *testing.T) {
	t.Parallel()
	conn, nc := startServer(t)
	s := bustest.Service(t, conn, "resolve")
	bustest.Must(t, bus.ListSkills.Serve(s, func(context.Context, schemas.ListQuery) (schemas.SkillList, error) {
		return schemas.SkillList{}, nil
	}))
	serve(t, conn, func(_ context.Context, a schemas.Analysis, sender bus.Sender) error {
		return sender.Send(schemas.EventTextDelta, schemas.TextDelta{Text: a.Query})
	})
	analysis := `{"query":"q","context":"{}","target":"H"}`
	for _, row := range []struct {
		name, subject, body, reply string
		want                       bool
	}{
		{"a record of the catalog", "cairn.skills", `{}`, "$KV.cairn_catalog.skill._global.a", false},
		{"an API key", "cairn.skills", `{}`, "$KV.cairn_keys.a", false},
		{"the JetStream API", "cairn.skills", `{}`, "$JS.API.STREAM.DELETE.KV_cairn_catalog", false},
		{"a topic of workers", "cairn.skills", `{}`, "cairn.projected", false},
		{"another endpoint", "cairn.skills", `{}`, "cairn.register.reindex", false},
		{"the events of a run", "cairn.skills", `{}`, "cairn.analyze.A.event", false},
		{"a subject that resembles an inbox", "cairn.skills", `{}`, "_INBOXES.a", false},
		{"an error instead of an answer", "cairn.skills", `not JSON`, "$KV.cairn_catalog.skill._global.a", false},
		{"events to a record", "cairn.analyze", analysis, "$KV.cairn_catalog.skill._global.a", false},
		{"events to the replay buffer", "cairn.analyze", analysis, "cairn.analyze.A.replay", false},
		{"events to the control subject of a run", "cairn.analyze", analysis, "cairn.analyze.A", false},
		{"events of a run of another stream", "cairn.analyze", analysis, "cairn.render.A.event", false},
		{"an inbox", "cairn.skills", `{}`, "_INBOX.a", true},
		{"an inbox of a user", "cairn.skills", `{}`, "_INBOX_edge.a", true},
		{"events to an inbox", "cairn.analyze", analysis, "_INBOX.b", true},
		{"events of a run", "cairn.analyze", analysis, "cairn.analyze.B.event", true},
	} {
		sub, err := nc.SubscribeSync(row.reply)
		bustest.Must(t, err)
		bustest.Must(t, nc.PublishRequest(row.subject, row.reply, []byte(row.body)))
		if row.want {
			if _, err := sub.NextMsg(10 * time.Second); err != nil {
				t.Errorf("%s: %v", row.name, err)
			}
		} else {
			// Requests are handled in order, so the answer to a later one shows
			// that this one was ignored.
			if _, err := bus.ListSkills.Call(t.Context(), conn, schemas.ListQuery{}); err != nil {
				t.Fatal(err)
			}
			if msg, err := sub.NextMsg(50 * time.Millisecond); err == nil {
				t.Errorf("%s: got %q on %s", row.name, msg.Data, msg.Subject)
			}
		}
		bustest.Must(t, sub.Unsubscribe())
	}
}

// TestUploadGoesToAnInbox has a responder request the rest of a body on a subject to
// which the caller has the permission to publish and the responder has not.
func TestUploadGoesToAnInbox(t *testing.T) {
	t.Parallel()
	conn, nc := startServer(t)
	const control = "$KV.cairn_catalog.skill._global.a"
	chunks, err := nc.SubscribeSync(control)
	bustest.Must(t, err)
	bustest.Subscribe(t, nc, bus.Analyze.Subject, func(request *nats.Msg) {
		_ = nc.PublishRequest(request.Reply, control, nil)
	})
	body := make([]byte, 9<<20)
	for _, err = range bus.Analyze.Forward(t.Context(), conn, body) {
	}
	if err == nil {
		t.Error("the upload succeeds, want an error")
	}
	if msg, err := chunks.NextMsg(50 * time.Millisecond); err == nil {
		t.Errorf("got %d bytes on %s", len(msg.Data), control)
	}
}
