package tags_test

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/schemas"
)

// TestUpgradeOfAsyncBucket replaces a bucket in persist mode "async", also after an attempt that was interrupted:
// tags keep their deadlines, and a deleted one stays deleted.
func TestUpgradeOfAsyncBucket(t *testing.T) {
	t.Parallel()
	const name, copied = "KV_cairn_tags", "KV_cairn_tags_copy"
	config := func(name, subjects string) jetstream.StreamConfig {
		return jetstream.StreamConfig{
			Name: name, Subjects: []string{subjects}, MaxMsgsPerSubject: 1, AllowMsgTTL: true, AllowDirect: true,
			AllowRollup: true,
		}
	}
	for _, row := range []struct {
		name          string
		bucket, saved bool // exist before the upgrade
	}{
		{"an earlier release", true, false},
		{"the copy was interrupted", true, true},
		{"the bucket was deleted, but not created again", false, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			conn := bustest.Open(t)
			js := conn.JetStream()
			put := func(subject, id, ttl string) {
				msg := nats.NewMsg(subject)
				msg.Data = []byte(`{"request_id":"` + id + `","flow":"default","tags":{}}`)
				msg.Header.Set(jetstream.MsgTTLHeader, ttl)
				if _, err := js.PublishMsg(t.Context(), msg); err != nil {
					t.Fatal(err)
				}
			}
			if row.saved {
				if _, err := js.CreateStream(t.Context(), config(copied, "$KV.cairn_tags_copy.>")); err != nil {
					t.Fatal(err)
				}
				put("$KV.cairn_tags_copy.YQ", "a", "60s")
			}
			if row.bucket {
				async := config(name, "$KV.cairn_tags.>")
				async.PersistMode = jetstream.AsyncPersistMode
				if _, err := js.CreateStream(t.Context(), async); err != nil {
					t.Fatal(err)
				}
				put("$KV.cairn_tags.YQ", "a", "60s")
				put("$KV.cairn_tags.Yg", "b", "60s")
				if _, err := js.PublishMsg(t.Context(), bucket.Marker("$KV.cairn_tags.Yg")); err != nil {
					t.Fatal(err)
				}
			}
			serve(t, conn)
			c := client{t, conn}
			if tag, err := c.read("a"); err != nil || tag.RequestID != "a" {
				t.Errorf("got %+v, %v, want the tag", tag, err)
			}
			if tag, err := c.read("b"); !errors.Is(err, schemas.ErrTagNotFound) {
				t.Errorf("a deleted tag: got %+v, %v", tag, err)
			}
			s, err := js.Stream(t.Context(), name)
			if err != nil || s.CachedInfo().Config.PersistMode != jetstream.DefaultPersistMode {
				t.Fatalf("%v, %+v, want the default persist mode", err, s.CachedInfo().Config)
			}
			stored, err := s.GetLastMsgForSubject(t.Context(), "$KV.cairn_tags.YQ")
			if err != nil {
				t.Fatal(err)
			}
			ttl, err := time.ParseDuration(stored.Header.Get(jetstream.MsgTTLHeader))
			if err != nil || ttl > time.Minute || ttl < 50*time.Second {
				t.Errorf("the tag has the TTL %v, %v, want the rest of a minute", ttl, err)
			}
			if _, err := js.Stream(t.Context(), copied); !errors.Is(err, jetstream.ErrStreamNotFound) {
				t.Errorf("the copy: got %v, want none", err)
			}
		})
	}
}
