package audit_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/audit"
	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/schemas"
)

// open returns a new log.
func open(t *testing.T) (*audit.Log, jetstream.JetStream) {
	t.Helper()
	js := bustest.Open(t).JetStream()
	if err := audit.Setup(t.Context(), js, bucket.Replication{}, time.Hour); err != nil {
		t.Fatal(err)
	}
	log, err := audit.Open(t.Context(), js)
	if err != nil {
		t.Fatal(err)
	}
	return log, js
}

func entry(id, tenant, actor string) schemas.AuditEntry {
	return schemas.AuditEntry{Action: schemas.ActionRegister, Kind: schemas.KindSkill, ID: id, TenantID: tenant,
		Origin: schemas.Origin{Author: schemas.Author{Actor: actor}}}
}

// add adds entries whose times are one day apart, the last one at end.
func add(t *testing.T, log *audit.Log, end time.Time, entries ...schemas.AuditEntry) {
	t.Helper()
	for i, e := range entries {
		e.Time = end.AddDate(0, 0, 1+i-len(entries)).Format(time.RFC3339)
		if err := log.Add(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPageSelectsEntries(t *testing.T) {
	t.Parallel()
	log, js := open(t)
	end := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	add(t, log, end, entry("a", "acme", "ann"), entry("b", "acme", "bob"), entry("c", "globex", "ann"),
		entry("d", "", "ann"),
		schemas.AuditEntry{Action: schemas.ActionCreateKey, Kind: schemas.KindKey, ID: "k", TenantID: "acme"})
	if _, err := js.Publish(t.Context(), "$KV.cairn_audit.records", []byte("not JSON")); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name  string
		query schemas.AuditQuery
		want  string
	}{
		{"without a filter every entry is selected, the latest first", schemas.AuditQuery{}, "k d c b a"},
		{"a tenant has its entries", schemas.AuditQuery{TenantID: new("acme")}, "k b a"},
		{"another tenant has none", schemas.AuditQuery{TenantID: new("acm")}, ""},
		{"an id selects its entries", schemas.AuditQuery{ID: "b"}, "b"},
		{"an id of another tenant is not selected", schemas.AuditQuery{ID: "c", TenantID: new("acme")}, ""},
		{"a kind selects its entries", schemas.AuditQuery{Kind: schemas.KindKey}, "k"},
		{"an actor selects its entries", schemas.AuditQuery{Actor: "ann"}, "d c a"},
		{"an action selects its entries", schemas.AuditQuery{Action: schemas.ActionRegister}, "d c b a"},
		{"since includes its time", schemas.AuditQuery{Since: "2026-11-18T12:00:00Z"}, "k d c"},
		{"until excludes its time", schemas.AuditQuery{Until: "2026-11-18T14:00:00+02:00"}, "b a"},
		{"a year includes all", schemas.AuditQuery{Since: "2025-11-20T12:00:00Z"}, "k d c b a"},
		{"a period without entries is empty", schemas.AuditQuery{Since: "2027-01-01T00:00:00Z"}, ""},
	} {
		for limit := 1; limit <= 6; limit++ {
			got, query := "", row.query
			query.Limit = &limit
			for query.Cursor == "" || got != "" {
				page, err := log.Page(t.Context(), query)
				if err != nil || len(page.Entries) > limit {
					t.Fatalf("%s: %d entries, %v", row.name, len(page.Entries), err)
				}
				for _, e := range page.Entries {
					got += " " + e.ID
				}
				if page.NextCursor == nil {
					break
				}
				query.Cursor = *page.NextCursor
			}
			if want := row.want; got != want && got != " "+want {
				t.Errorf("%s, in pages of %d: got %q, want %q", row.name, limit, got, want)
			}
		}
	}
}

// TestLongLog reads a log that is longer than one read from the server.
func TestLongLog(t *testing.T) {
	t.Parallel()
	log, js := open(t)
	const entries = 2500
	for n := range entries {
		text := fmt.Sprintf(`{"time":"2026-11-20T12:00:00Z","action":"register","kind":"skill","id":"%d"}`, n)
		if _, err := js.PublishAsync("$KV.cairn_audit.records", []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	<-js.PublishAsyncComplete()
	for n, query := 0, (schemas.AuditQuery{Limit: new(1000)}); ; {
		page, err := log.Page(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Entries {
			if n++; e.ID != fmt.Sprint(entries-n) {
				t.Fatalf("entry %d: %s", n, e.ID)
			}
		}
		if page.NextCursor == nil {
			if n != entries {
				t.Errorf("%d entries, want %d", n, entries)
			}
			break
		}
		query.Cursor = *page.NextCursor
	}
	if page, err := log.Page(t.Context(), schemas.AuditQuery{ID: "0"}); err != nil || len(page.Entries) != 1 {
		t.Errorf("the first entry: %d, %v", len(page.Entries), err)
	}
	if recent, err := log.Recent(t.Context(), 1500); err != nil || len(recent) != 2000 || recent[0].ID != "2499" {
		t.Errorf("got %d recent entries, %v", len(recent), err)
	}
}

func TestEmptyLog(t *testing.T) {
	t.Parallel()
	log, _ := open(t)
	page, err := log.Page(t.Context(), schemas.AuditQuery{})
	if want := (schemas.AuditList{Entries: []schemas.AuditEntry{}}); err != nil || !cmp.Equal(page, want) {
		t.Errorf("got %+v, %v", page, err)
	}
}

// TestEntryOfRevisionIsStoredOnce adds an entry as two workers do.
func TestEntryOfRevisionIsStoredOnce(t *testing.T) {
	t.Parallel()
	log, _ := open(t)
	e := entry("a", "", "ann")
	e.Revision = "ID-1"
	add(t, log, time.Now(), e, e)
	if page, err := log.Page(t.Context(), schemas.AuditQuery{}); err != nil || len(page.Entries) != 1 {
		t.Errorf("got %+v, %v", page, err)
	}
}

func TestInvalidCursor(t *testing.T) {
	t.Parallel()
	log, _ := open(t)
	for _, text := range []string{"x", "YTA", "YS0x", "YTE4NDQ2NzQ0MDczNzA5NTUxNjE2", "dDE", "====", "\x00"} {
		if _, err := log.Page(t.Context(), schemas.AuditQuery{Cursor: text}); !errors.Is(err, schemas.ErrCursor) {
			t.Errorf("cursor %q: got %v, want %v", text, err, schemas.ErrCursor)
		}
	}
	// beyond the end, as after a replacement of the stream
	if _, err := log.Page(t.Context(), schemas.AuditQuery{Cursor: "YTk5OTk5"}); err != nil {
		t.Error(err)
	}
}

// TestRetention checks the configuration of the stream.
func TestRetention(t *testing.T) {
	t.Parallel()
	_, js := open(t)
	if err := audit.Setup(t.Context(), js, bucket.Replication{Storage: bucket.Storage{Bytes: 100 << 20}},
		48*time.Hour); err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(t.Context(), audit.Stream)
	if err != nil {
		t.Fatal(err)
	}
	c := s.CachedInfo().Config
	if c.MaxAge != 48*time.Hour || c.MaxBytes != 512<<10 || c.Discard != jetstream.DiscardOld || !c.DenyDelete ||
		c.AllowRollup {
		t.Errorf("got %+v", c)
	}
}
