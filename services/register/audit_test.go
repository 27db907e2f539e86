package register_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus"
	"cairn/bus/audit"
	"cairn/bus/bucket"
	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/register"
	"cairn/test/wait"
)

// entries returns the audit log by revision, of which there are fewer than ten, one line each: action,
// tenant, name, revision, actor, message and route.
func entries(t *testing.T, conn *bus.Conn) (list []string) {
	t.Helper()
	log, err := audit.Open(t.Context(), conn.JetStream())
	if err != nil {
		t.Fatal(err)
	}
	page, err := log.Page(t.Context(), schemas.AuditQuery{})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(page.Entries, func(a, b schemas.AuditEntry) int { return strings.Compare(a.Revision, b.Revision) })
	for _, e := range page.Entries {
		_, revision, _ := strings.Cut(e.Revision, "-")
		name := e.Kind + "/" + e.ID
		if e.Alias != "" {
			name += "@" + e.Alias
		}
		list = append(list, strings.Join([]string{e.Action, e.TenantID, name, revision, e.Actor, e.Message, e.Route}, " "))
	}
	return list
}

// TestChangesAreAudited makes a change by each route: the audit log has an entry of each, and no other.
func TestChangesAreAudited(t *testing.T) {
	t.Parallel()
	conn, c := serveSearchable(t)
	ctx := bus.WithIdentity(t.Context(), &schemas.Identity{ID: "ann", Type: schemas.ActorKey, Role: schemas.RoleAdmin})
	ctx = bus.WithOrigin(ctx, schemas.Origin{Author: schemas.Author{Message: "größere Platten"}})
	send := func(ctx context.Context, post post, body string) {
		t.Helper()
		if _, err := post(ctx, conn, []byte(body)); err != nil {
			t.Error(err)
		}
	}
	send(ctx, bus.RegisterSkill.Forward, `{"record":{"skill_id":"a.b"}}`)
	send(ctx, bus.PutRecord.Forward, `{"kind":"skill","id":"a.b","record":{"purpose":"x"}}`)
	send(t.Context(), bus.PutRecord.Forward, `{"kind":"skill","id":"a.b","record":{"purpose":"x"}}`) // equal
	send(ctx, bus.PutRecords.Forward, `{"records":[{"kind":"skill","record":{"skill_id":"a.b","purpose":"x"}}]}`)
	send(ctx, bus.PutRecords.Forward,
		`{"records":[{"kind":"tool","record":{"tool_id":"a.b.c","tenant_id":"acme"}},{"kind":"tool","record":{}}]}`)
	refused := bus.WithPrecondition(ctx, schemas.Precondition{IfNoneMatch: "*"})
	if _, err := bus.PutRecord.Forward(refused, conn, []byte(`{"kind":"skill","id":"a.b","record":{}}`)); err == nil {
		t.Error("a write whose precondition does not hold is accepted")
	}
	for _, name := range []string{"stable", "stable", "beta"} { // the second one is equal
		send(ctx, bus.PutAlias.Forward, `{"kind":"skill","id":"a.b","name":"`+name+`","target":{}}`)
	}
	for range 2 { // the second one finds none
		send(ctx, bus.DeleteAlias.Forward, `{"kind":"skill","id":"a.b","name":"beta"}`)
	}
	send(ctx, bus.DeleteRecord.Forward, `{"kind":"skill","id":"a.b"}`)
	send(ctx, bus.Unregister.Forward, `{"kind":"skill","id":"a.b"}`) // there is none
	send(t.Context(), bus.Unregister.Forward, `{"kind":"tool","id":"a.b.c","tenant_id":"acme"}`)
	want := []string{
		"register  skill/a.b 1 ann größere Platten cairn.register.skill",
		"replace  skill/a.b 2 ann größere Platten cairn.records.put",
		"register acme tool/a.b.c 3 ann größere Platten cairn.records.bulk",
		"promote  skill/a.b@stable 4 ann größere Platten cairn.records.put_alias",
		"promote  skill/a.b@beta 5 ann größere Platten cairn.records.put_alias",
		"delete_alias  skill/a.b@beta 6 ann größere Platten cairn.records.delete_alias",
		"delete  skill/a.b 7 ann größere Platten cairn.records.delete",
		"delete_alias  skill/a.b@stable 8 ann größere Platten cairn.records.delete",
		"delete acme tool/a.b.c 9   cairn.register.delete",
	}
	if diff := cmp.Diff(want, entries(t, conn)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	list, err := c.History(t.Context(), catalog.Key{Kind: schemas.KindSkill, ID: "a.b"})
	if err != nil || list[0].Origin().Author != (schemas.Author{Actor: "ann", ActorType: schemas.ActorKey,
		Message: "größere Platten"}) {
		t.Errorf("the newest revision: %+v, %v", list, err)
	}
	page, err := bus.Audit.Call(ctx, conn, schemas.AuditQuery{TenantID: new("acme")})
	if err != nil || len(page.Entries) != 2 || page.Entries[0].RequestID == "" {
		t.Errorf("the entries of a tenant: %+v, %v", page.Entries, err)
	}
}

// TestInvalidMessage sends messages that are no text of one line.
func TestInvalidMessage(t *testing.T) {
	t.Parallel()
	_, conn, _ := serve(t)
	for _, row := range []struct{ name, message string }{
		{"too long", strings.Repeat("x", schemas.MaxMessage+1)},
		{"a control character", "a\tb"},
		{"not UTF-8", "\xff"},
	} {
		ctx := bus.WithOrigin(t.Context(), schemas.Origin{Author: schemas.Author{Message: row.message}})
		_, err := bus.PutRecord.Forward(ctx, conn, []byte(`{"kind":"skill","id":"a.b","record":{}}`))
		if err == nil || !strings.Contains(err.Error(), "Cairn-Message") {
			t.Errorf("%s: got %v, want an error about Cairn-Message", row.name, err)
		}
	}
	if got := entries(t, conn); got != nil {
		t.Errorf("got %q", got)
	}
}

// TestAuditIsRecovered writes to the catalog as a worker that ends before the entry is in the audit log. The next
// worker adds it, once.
func TestAuditIsRecovered(t *testing.T) {
	t.Parallel()
	conn, c := serveSearchable(t)
	recoverAudit := recovery(t, conn, c)
	recoverAudit() // from an empty log
	if _, err := bus.PutRecord.Forward(t.Context(), conn, []byte(`{"kind":"skill","id":"a.b","record":{}}`)); err != nil {
		t.Fatal(err)
	}
	ctx := bus.WithOrigin(t.Context(), schemas.Origin{Author: schemas.Author{Actor: "bob"}, Route: "cairn.records.put"})
	lost := catalog.Key{Kind: schemas.KindSkill, ID: "a.c"}
	alias := lost
	alias.Alias = "stable"
	for _, key := range []catalog.Key{lost, alias} {
		if _, err := c.Put(ctx, key, []byte(`{"skill_id":"a.c"}`)); err != nil {
			t.Fatal(err)
		}
	}
	restored := catalog.Key{Kind: schemas.KindSkill, ID: "a.d"}
	if _, err := c.Put(t.Context(), restored, []byte(`{"skill_id":"a.d"}`)); err != nil { // not by a request
		t.Fatal(err)
	}
	for range 2 {
		recoverAudit()
	}
	want := []string{"register  skill/a.b 1   cairn.records.put", "register  skill/a.c 2 bob  cairn.records.put",
		"promote  skill/a.c@stable 3 bob  cairn.records.put"}
	if diff := cmp.Diff(want, entries(t, conn)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// recovery returns a function that recovers the audit log.
func recovery(t *testing.T, conn *bus.Conn, c *catalog.Catalog) func() {
	t.Helper()
	log, err := audit.Open(t.Context(), conn.JetStream())
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		w := audit.StartWriter(conn.JetStream())
		defer w.Close(t.Context())
		if err := register.RecoverAudit(t.Context(), c, log, w); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRecoveryAfterLateEntry recovers a log that has more entries than are compared, the last one of an early revision:
// it adds no entry of the revisions between.
func TestRecoveryAfterLateEntry(t *testing.T) {
	t.Parallel()
	conn, c := serveSearchable(t)
	small := bucket.Replication{Storage: bucket.Storage{Bytes: 8 << 20}} // so that 10 entries are compared
	if err := audit.Setup(t.Context(), conn.JetStream(), small, 0); err != nil {
		t.Fatal(err)
	}
	first := schemas.AuditEntry{Action: schemas.ActionRegister, Kind: schemas.KindTool, ID: "a.b.c0", TenantID: "acme"}
	for n := range 40 {
		body := fmt.Appendf(nil, `{"kind":"tool","id":"a.b.c%d","record":{"tenant_id":"acme"}}`, n)
		if _, err := bus.PutRecord.Forward(t.Context(), conn, body); err != nil {
			t.Fatal(err)
		}
	}
	first.Revision = schemas.ConsistencyToken{Catalog: c.ID(), Revision: 1}.String()
	first.Time = "2026-11-20T12:00:00Z"
	msg := nats.NewMsg("$KV.cairn_audit.records.acme")
	msg.Data, _ = json.Marshal(first)
	if _, err := conn.JetStream().PublishMsg(t.Context(), msg); err != nil { // without the ID of the revision
		t.Fatal(err)
	}
	before := entries(t, conn)
	recovery(t, conn, c)()
	if diff := cmp.Diff(before, entries(t, conn)); diff != "" || len(before) != 10 {
		t.Errorf("%d entries before, -before +after\n%s", len(before), diff)
	}
}

// TestAuditOfShortDeadlines registers records, and deletes those with aliases, with deadlines that end at any step:
// each change that is made has an entry.
func TestAuditOfShortDeadlines(t *testing.T) {
	t.Parallel()
	conn, c := serveSearchable(t)
	log, err := audit.Open(t.Context(), conn.JetStream())
	if err != nil {
		t.Fatal(err)
	}
	send := func(subject, body string, timeout time.Duration) {
		t.Helper()
		request := &nats.Msg{Subject: subject, Data: []byte(body), Header: nats.Header{bus.HeaderTimeout: {timeout.String()}}}
		_, _ = conn.JetStream().Conn().RequestMsg(request, time.Second) // most end with an error
	}
	audited := func(t *testing.T, action, id string) bool {
		t.Helper()
		page, err := log.Page(t.Context(), schemas.AuditQuery{Action: action, ID: id})
		if err != nil {
			t.Fatal(err)
		}
		return len(page.Entries) > 0
	}
	for n := range 30 {
		id := fmt.Sprintf("a.b.c%d", n)
		send(bus.PutRecord.Subject, `{"kind":"tool","id":"`+id+`","record":{}}`, time.Duration(n+1)*150*time.Microsecond)
		if _, err := c.Get(t.Context(), catalog.Key{Kind: schemas.KindTool, ID: id}); err == nil {
			wait.Until(t, "the entry of "+id, func() bool { return audited(t, schemas.ActionRegister, id) })
		}
	}
	for n := range 12 {
		key := catalog.Key{Kind: schemas.KindTool, ID: fmt.Sprintf("d.e.f%d", n)}
		for _, key.Alias = range []string{"", "a", "b", "c"} {
			if _, err := c.Put(t.Context(), key, []byte(`{}`)); err != nil {
				t.Fatal(err)
			}
		}
		send(bus.DeleteRecord.Subject, `{"kind":"tool","id":"`+key.ID+`"}`, time.Duration(n+1)*time.Millisecond)
		key.Alias = ""
		if _, err := c.Get(t.Context(), key); err != nil {
			wait.Until(t, "the entry of "+key.ID, func() bool { return audited(t, schemas.ActionDelete, key.ID) })
		}
	}
}

// TestAuditUnavailable makes a change while the stream of the log refuses entries: the entry follows, although the
// caller's next request finds the record unchanged.
func TestAuditUnavailable(t *testing.T) {
	t.Parallel()
	conn, _ := serveSearchable(t)
	put := func(id string) error {
		body := `{"kind":"skill","id":"` + id + `","record":{}}`
		_, err := bus.PutRecord.Forward(t.Context(), conn, []byte(body))
		return err
	}
	if err := put("a.a"); err != nil {
		t.Fatal(err)
	}
	js := conn.JetStream()
	s, err := js.Stream(t.Context(), audit.Stream)
	if err != nil {
		t.Fatal(err)
	}
	refusing := s.CachedInfo().Config
	refusing.MaxMsgs, refusing.Discard = 1, jetstream.DiscardNew
	if _, err := js.UpdateStream(t.Context(), refusing); err != nil {
		t.Fatal(err)
	}
	err = put("a.b")
	if !errors.Is(err, schemas.ErrUnavailable) || !strings.Contains(err.Error(), "the change is stored") {
		t.Errorf("got %v, want %v, and that the change is stored", err, schemas.ErrUnavailable)
	}
	if _, err := js.UpdateStream(t.Context(), s.CachedInfo().Config); err != nil {
		t.Fatal(err)
	}
	if err := put("a.b"); err != nil {
		t.Error(err)
	}
	wait.Until(t, "the entry", func() bool { return len(entries(t, conn)) == 2 })
}

// TestAuditOfReplacedRecord replaces a record that another worker has just written, which this one may not know.
func TestAuditOfReplacedRecord(t *testing.T) {
	t.Parallel()
	conn, c := serveSearchable(t)
	var want []string
	for n := range 8 {
		id := fmt.Sprintf("a.b%d", n)
		if _, err := c.Put(t.Context(), catalog.Key{Kind: schemas.KindSkill, ID: id}, []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
		body := `{"kind":"skill","id":"` + id + `","record":{"purpose":"x"}}`
		if _, err := bus.PutRecord.Forward(t.Context(), conn, []byte(body)); err != nil {
			t.Fatal(err)
		}
		want = append(want, "replace")
	}
	var got []string
	for _, e := range entries(t, conn) {
		got = append(got, strings.Fields(e)[0])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestAuditOfRetry repeats a request whose first attempt has stored the record and not the entry of the audit log: the
// entry is added, once.
func TestAuditOfRetry(t *testing.T) {
	t.Parallel()
	conn, c := serveSearchable(t)
	first := bucket.WithRequest(t.Context(), bus.PutRecord.Subject+" 1")
	if _, err := c.Put(first, catalog.Key{Kind: schemas.KindSkill, ID: "a.b"}, []byte(`{"skill_id":"a.b"}`)); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"1", "1"} {
		_, err := conn.JetStream().Conn().RequestMsg(&nats.Msg{
			Subject: bus.PutRecord.Subject, Data: []byte(`{"kind":"skill","id":"a.b","record":{}}`),
			Header: nats.Header{jetstream.MsgIDHeader: {id}},
		}, wait.Timeout)
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := entries(t, conn); len(got) != 1 || !strings.Contains(got[0], " skill/a.b 1 ") {
		t.Errorf("got %q", got)
	}
}
