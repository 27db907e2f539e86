package tags_test

import (
	"encoding/base64"
	"errors"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"cairn/bus"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/services/tags"
)

// FuzzTag writes arbitrary bodies and reads arbitrary stored data: an accepted tag
// is returned unchanged, to its tenant only.
func FuzzTag(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"request_id":"r","flow":"f","tags":{"a":1e400,"\u0000":[null, {}],"":"\ud83d\ude00"}}`,
			`{"request_id":"r","flow":"f","tags":{}}`},
		{`{"request_id":"a.b *>","tenant_id":"acme","tags":null,"ttl_seconds":1}`, `{"tags":{"a":1,"a":2}}`},
		{`{"request_id":"r","ttl_seconds":9223372036854775807}`, `null`}, {`{"request_id":"","flow":7}`, `[]`},
		{`{"request_id":"r","tags":{"a":1,"a":1}}`, "\xff"},
		{`{"request_id":"r","tenant_id":"_global"}`, ``}, {`{"request_id":"\ud800"}`, `{`},
		{"{\"request_id\":\"\xff\"}", `{"request_id":1}`},
		{`[]`, `"`}, {``, `{"flow":"` + "\xff" + `"}`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	conn := bustest.Open(f)
	store, err := tags.Create(f.Context(), conn, tags.Settings{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(store.Close)
	if err := tags.Serve(bustest.Fragile(f, conn, "tags"), store, tags.DefaultTTL); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body, stored []byte) {
		written(t, conn, body)
		msg := nats.NewMsg("$KV.cairn_tags." + base64.RawURLEncoding.EncodeToString([]byte("stored")))
		msg.Data = stored
		msg.Header.Set("Nats-TTL", "60s")
		if _, err := conn.JetStream().PublishMsg(t.Context(), msg); err != nil {
			t.Fatal(err)
		}
		answer, err := bus.ReadTag.Forward(t.Context(), conn, []byte(`{"request_id":"stored"}`))
		if (err == nil) != (json.Unmarshal(stored, &schemas.Tag{}) == nil) ||
			err != nil && !errors.Is(err, schemas.ErrInternal) {
			t.Errorf("%q is read as %s, %v", stored, answer.Body, err)
		}
	})
}

// written writes the body, then reads and removes its tag.
func written(t *testing.T, conn *bus.Conn, body []byte) {
	t.Helper()
	if _, err := bus.WriteTag.Forward(t.Context(), conn, body); err != nil {
		if !errors.Is(err, schemas.ErrMalformed) && !errors.Is(err, schemas.ErrTooLarge) {
			t.Errorf("%q: %v", body, err)
		}
		return
	}
	var sent schemas.TagWrite
	if err := json.Unmarshal(body, &sent); err != nil {
		t.Fatalf("%q is accepted: %v", body, err)
	}
	key := schemas.TagKey{RequestID: sent.RequestID, TenantID: sent.TenantID}
	answer, err := bus.ReadTag.Call(t.Context(), conn, key)
	if diff := cmp.Diff(canonical(t, sent.Tag), canonical(t, answer.Tags)); err != nil || diff != "" {
		t.Errorf("%q is read with %v (-want +got):\n%s", body, err, diff)
	}
	other := "another"
	if key.TenantID != nil && *key.TenantID == other {
		other += "s"
	}
	if _, err := bus.ReadTag.Call(t.Context(), conn,
		schemas.TagKey{RequestID: sent.RequestID, TenantID: &other}); !errors.Is(err,
		schemas.ErrTagNotFound) {
		t.Errorf("%q is read by another tenant: %v", body, err)
	}
	if _, err := bus.DeleteTag.Call(t.Context(), conn, key); err != nil {
		t.Errorf("%q is not removed: %v", body, err)
	}
}

// canonical returns the canonical JSON of the tag.
func canonical(t *testing.T, tag schemas.Tag) string {
	t.Helper()
	text, err := json.Marshal(tag, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	value := jsontext.Value(text)
	if err := value.Compact(); err != nil {
		t.Fatal(err)
	}
	return string(value)
}
