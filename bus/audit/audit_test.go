package audit_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/admission"
	"cairn/bus/audit"
	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/test/wait"
)

// open returns a new log.
func open(t *testing.T) (*audit.Log, jetstream.JetStream) {
	t.Helper()
	js := bustest.Open(t).JetStream()
	bustest.Must(t, audit.Setup(t.Context(), js, bucket.Replication{}, time.Hour))
	log, err := audit.Open(t.Context(), js)
	bustest.Must(t, err)
	return log, js
}

func entry(id, tenant, actor string) schemas.AuditEntry {
	return schemas.AuditEntry{Action: schemas.ActionRegister, Kind: schemas.KindSkill, ID: id, TenantID: tenant,
		Origin: schemas.Origin{Author: schemas.Author{Actor: actor}}}
}

// add adds entries whose times are one day apart, the last one at end.
func add(t *testing.T, js jetstream.JetStream, end time.Time, entries ...schemas.AuditEntry) {
	t.Helper()
	for i, e := range entries {
		e.Time = end.AddDate(0, 0, 1+i-len(entries)).Format(time.RFC3339)
		bustest.Must(t, audit.Add(t.Context(), js, e))
	}
}

// fill adds entries with the numbers below count as IDs, in the order of the numbers.
func fill(t *testing.T, js jetstream.JetStream, count int, describe func(n int) (tenant string, date time.Time)) {
	t.Helper()
	for n := range count {
		tenant, date := describe(n)
		text := fmt.Sprintf(`{"time":%q,"kind":"skill","tenant_id":%q,"id":"%d"}`, date.Format(time.RFC3339Nano), tenant, n)
		if tenant == "" {
			tenant = "_global"
		}
		if _, err := js.PublishAsync("$KV.cairn_audit.records."+tenant, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	<-js.PublishAsyncComplete()
}

// global describes each entry as one of no tenant, added now.
func global(int) (string, time.Time) { return "", time.Now().UTC() }

// pages reads the pages of the query.
func pages(t *testing.T, log *audit.Log, query schemas.AuditQuery) iter.Seq[schemas.AuditList] {
	return func(yield func(schemas.AuditList) bool) {
		for {
			page, err := log.Page(t.Context(), query)
			if err != nil {
				t.Fatalf("%+v: %v", query, err)
			}
			if !yield(page) || page.NextCursor == nil {
				return
			}
			query.Cursor = *page.NextCursor
		}
	}
}

func TestPageSelectsEntries(t *testing.T) {
	t.Parallel()
	log, js := open(t)
	end := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	add(t, js, end, entry("a", "acme", "ann"), entry("b", "acme", "bob"), entry("c", "globex", "ann"),
		entry("d", "", "ann"),
		schemas.AuditEntry{Action: schemas.ActionCreateKey, Kind: schemas.KindKey, ID: "k", TenantID: "acme"})
	if _, err := js.Publish(t.Context(), "$KV.cairn_audit.records._global", []byte("not JSON")); err != nil {
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
			for page := range pages(t, log, query) {
				if len(page.Entries) > limit {
					t.Fatalf("%s: %d entries on a page of %d", row.name, len(page.Entries), limit)
				}
				for _, e := range page.Entries {
					got += " " + e.ID
				}
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
	started := time.Now()
	fill(t, js, entries, global)
	n := 0
	for page := range pages(t, log, schemas.AuditQuery{Limit: new(1000)}) {
		for _, e := range page.Entries {
			if n++; e.ID != fmt.Sprint(entries-n) {
				t.Fatalf("entry %d: %s", n, e.ID)
			}
		}
	}
	if n != entries {
		t.Errorf("%d entries, want %d", n, entries)
	}
	if page, err := log.Page(t.Context(), schemas.AuditQuery{ID: "0"}); err != nil || len(page.Entries) != 1 {
		t.Errorf("the first entry: %d, %v", len(page.Entries), err)
	}
	recent, since, err := log.Recent(t.Context(), 1500)
	if err != nil || len(recent) != 1500 || recent[0].ID != "2499" || since.Before(started) || since.After(time.Now()) {
		t.Errorf("got %d recent entries since %v, %v", len(recent), since, err)
	}
	all, since, err := log.Recent(t.Context(), entries)
	if err != nil || len(all) != entries || since.After(time.Now()) {
		t.Errorf("got %d of all entries since %v, %v", len(all), since, err)
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
	log, js := open(t)
	e := entry("a", "", "ann")
	e.Revision = "ID-1"
	add(t, js, time.Now(), e, e)
	if page, err := log.Page(t.Context(), schemas.AuditQuery{}); err != nil || len(page.Entries) != 1 {
		t.Errorf("got %+v, %v", page, err)
	}
}

func TestInvalidCursor(t *testing.T) {
	t.Parallel()
	log, _ := open(t)
	for _, text := range []string{"x", "dDA", "dC0x", "dDE4NDQ2NzQ0MDczNzA5NTUxNjE2", "ZzE", "dHg", "====", "\x00"} {
		if _, err := log.Page(t.Context(), schemas.AuditQuery{Cursor: text}); !errors.Is(err, schemas.ErrCursor) {
			t.Errorf("cursor %q: got %v, want %v", text, err, schemas.ErrCursor)
		}
	}
	// beyond the end, as after a replacement of the stream
	if _, err := log.Page(t.Context(), schemas.AuditQuery{Cursor: "dDk5OTk5"}); err != nil {
		t.Error(err)
	}
}

// TestRetention checks the configuration of the stream.
func TestRetention(t *testing.T) {
	t.Parallel()
	_, js := open(t)
	bustest.Must(t, audit.Setup(t.Context(), js, bucket.Replication{Storage: bucket.Storage{Bytes: 100 << 20}},
		48*time.Hour))
	s, err := js.Stream(t.Context(), audit.Stream)
	bustest.Must(t, err)
	c := s.CachedInfo().Config
	if c.MaxAge != 48*time.Hour || c.MaxBytes != 512<<10 || c.MaxMsgsPerSubject != 128 ||
		c.Discard != jetstream.DiscardOld || !c.DenyDelete || c.AllowRollup {
		t.Errorf("got %+v", c)
	}
}

// TestTenantDoesNotDisplaceOthers fills a small log with the longest entries of one tenant.
func TestTenantDoesNotDisplaceOthers(t *testing.T) {
	t.Parallel()
	log, js := open(t)
	limited := bucket.Replication{Storage: bucket.Storage{Bytes: 20 << 20}} // 100 KiB for the log
	bustest.Must(t, audit.Setup(t.Context(), js, limited, time.Hour))
	key := schemas.AuditEntry{Action: schemas.ActionCreateKey, Kind: schemas.KindKey, ID: "k", TenantID: "evil"}
	add(t, js, time.Now(), entry("a", "acme eu", "ann"), entry("g", "", "ann"), key)
	long := entry(strings.Repeat("ä", 256), "evil", "eve")
	long.Message = strings.Repeat(`"`, schemas.MaxMessage)
	for n := range 100 {
		long.Revision = fmt.Sprintf("ID-%d", n)
		bustest.Must(t, audit.Add(t.Context(), js, long))
	}
	for tenant, want := range map[string]int{"acme eu": 1, "evil": 26, "acme": 0, "*": 0, ">": 0} {
		page, err := log.Page(t.Context(), schemas.AuditQuery{TenantID: &tenant})
		if err != nil || len(page.Entries) != want {
			t.Errorf("tenant %q: got %d entries, %v, want %d", tenant, len(page.Entries), err, want)
		}
	}
	for _, id := range []string{"k", "g", "a"} {
		if page, err := log.Page(t.Context(), schemas.AuditQuery{ID: id}); err != nil || len(page.Entries) != 1 {
			t.Errorf("entry %s: got %d, %v", id, len(page.Entries), err)
		}
	}
}

// TestFewEntriesAmongMany reads the entries of a tenant at the begin, in the middle and at the end of those of another,
// in pages of one.
func TestFewEntriesAmongMany(t *testing.T) {
	t.Parallel()
	log, js := open(t)
	fill(t, js, 6000, func(n int) (string, time.Time) {
		if n < 1200 || n == 3000 || n == 5999 {
			return "few", time.Now().UTC()
		}
		return "many", time.Now().UTC()
	})
	for _, limit := range []int{1, 2, 1000} {
		n := 0
		for page := range pages(t, log, schemas.AuditQuery{TenantID: new("few"), Limit: &limit}) {
			if n += len(page.Entries); limit < 1000 && n > 10 {
				break
			}
		}
		if n < 11 || limit == 1000 && n != 1202 {
			t.Errorf("in pages of %d: got %d entries", limit, n)
		}
	}
}

// TestPageEnds reads with pages that end after a window: their cursors lead to each entry.
func TestPageEnds(t *testing.T) {
	t.Parallel()
	log, js := open(t)
	fill(t, js, 2500, global)
	var entries []int // of each page
	for page := range pages(t, log.WithReadTime(0), schemas.AuditQuery{ID: "0"}) {
		entries = append(entries, len(page.Entries))
	}
	if want := []int{0, 0, 1}; !slices.Equal(entries, want) {
		t.Errorf("the pages have %d entries, want %d", entries, want)
	}
}

// TestLateEntries adds entries of earlier changes after later ones, as a restore does.
func TestLateEntries(t *testing.T) {
	t.Parallel()
	log, js := open(t)
	fill(t, js, 2500, func(n int) (string, time.Time) {
		if n > 1000 {
			return "", time.Now().UTC().AddDate(0, 0, -10)
		}
		return global(n)
	})
	hour := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	for _, row := range []struct {
		name  string
		query schemas.AuditQuery
		want  int
	}{
		{"since a time before which entries were added later", schemas.AuditQuery{Since: hour}, 1001},
		{"until a time before the entries were added", schemas.AuditQuery{Until: hour}, 1499},
	} {
		n := 0
		row.query.Limit = new(1000)
		for page := range pages(t, log, row.query) {
			n += len(page.Entries)
		}
		if n != row.want {
			t.Errorf("%s: got %d entries, want %d", row.name, n, row.want)
		}
	}
}

// TestAddWithoutStream names the stream that is missing.
func TestAddWithoutStream(t *testing.T) {
	t.Parallel()
	err := audit.Add(t.Context(), bustest.Open(t).JetStream(), entry("a", "", "ann"))
	if !errors.Is(err, bucket.ErrNoStream) || !strings.Contains(err.Error(), audit.Stream) {
		t.Errorf("got %v, want an error about %s", err, audit.Stream)
	}
}

// TestAddAfterDeadline adds an entry of a request whose deadline has passed.
func TestAddAfterDeadline(t *testing.T) {
	t.Parallel()
	log, js := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := audit.Add(ctx, js, entry("a", "", "ann")); err != nil {
		t.Error(err)
	}
	if page, err := log.Page(t.Context(), schemas.AuditQuery{}); err != nil || len(page.Entries) != 1 {
		t.Errorf("got %+v, %v", page, err)
	}
}

// TestWriterRetries adds entries while the stream refuses them. They are stored once it does not, the last one during
// Close.
func TestWriterRetries(t *testing.T) {
	t.Parallel()
	log, js := open(t)
	add(t, js, time.Now(), entry("a", "", "ann"))
	s, err := js.Stream(t.Context(), audit.Stream)
	bustest.Must(t, err)
	accepting := s.CachedInfo().Config
	refusing := accepting
	refusing.MaxMsgs, refusing.Discard = 1, jetstream.DiscardNew
	if _, err := js.UpdateStream(t.Context(), refusing); err != nil {
		t.Fatal(err)
	}
	w := audit.StartWriter(js)
	for _, id := range []string{"b", "c"} {
		err := w.Add(t.Context(), entry(id, "", "ann"))
		if !errors.Is(err, schemas.ErrUnavailable) ||
			!strings.Contains(err.Error(), "the audit log is full (maximum messages exceeded): its entry follows") {
			t.Errorf("got %v, want an error with the reason that says that the entry follows", err)
		}
	}
	if _, err := js.UpdateStream(t.Context(), accepting); err != nil {
		t.Fatal(err)
	}
	w.Close(t.Context())
	page, err := log.Page(t.Context(), schemas.AuditQuery{})
	if err != nil || len(page.Entries) != 3 {
		t.Errorf("got %+v, %v", page, err)
	}
}

// TestWriterCloses closes a writer with an entry that cannot be stored, when the drain has ended.
func TestWriterCloses(t *testing.T) {
	t.Parallel()
	w := audit.StartWriter(bustest.Open(t).JetStream())
	if err := w.Add(t.Context(), entry("a", "", "ann")); !errors.Is(err, schemas.ErrUnavailable) {
		t.Errorf("got %v, want %v", err, schemas.ErrUnavailable)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	w.Close(ended)
}

// TestPagesAreAdmitted reads a page while another tenant reads as many as it may, and one that waits for its turn.
func TestPagesAreAdmitted(t *testing.T) {
	t.Parallel()
	log, js := open(t)
	add(t, js, time.Now(), entry("a", "acme", "ann"))
	pages, held := log.Pages(), int64(0)
	for pages.Acquire("globex", 1) {
		held++
	}
	read := func(tenant string) error {
		page, err := log.Page(admission.WithTenant(t.Context(), tenant), schemas.AuditQuery{})
		if err == nil && len(page.Entries) != 1 {
			err = fmt.Errorf("got %d entries, want 1", len(page.Entries))
		}
		return err
	}
	if err := read("acme"); err != nil {
		t.Errorf("another tenant: %v", err)
	}
	done := make(chan error, 1)
	go func() { done <- read("globex") }()
	wait.Until(t, "the page waits", func() bool { return pages.Queued() == 1 })
	pages.Release("globex", held)
	if err := <-done; err != nil {
		t.Error(err)
	}
}
