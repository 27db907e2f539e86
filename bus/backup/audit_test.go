package backup_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/bus"
	"cairn/bus/audit"
	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/schemas"
)

// log creates the audit log of a server.
func log(t *testing.T, conn *bus.Conn) *audit.Log {
	t.Helper()
	if err := audit.Setup(t.Context(), conn.JetStream(), bucket.Replication{}, audit.DefaultRetention); err != nil {
		t.Fatal(err)
	}
	l, err := audit.Open(t.Context(), conn.JetStream())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestRestoreAddsToAuditLog restores a backup to a server whose audit log has an entry.
func TestRestoreAddsToAuditLog(t *testing.T) {
	t.Parallel()
	source, target := filled(t), bustest.Open(t)
	add := func(l *audit.Log, id string) {
		t.Helper()
		e := schemas.AuditEntry{Action: schemas.ActionRegister, ID: id, Revision: "ID-" + id}
		if err := l.Add(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	before, after := log(t, source), log(t, target)
	add(before, "1")
	add(before, "2")
	add(after, "3")
	if _, err := restored(t, target, saved(t, source)); err != nil {
		t.Fatal(err)
	}
	page, err := after.Page(t.Context(), schemas.AuditQuery{})
	var got []string
	for _, e := range page.Entries {
		got = append(got, e.Action+" "+e.ID)
	}
	if diff := cmp.Diff([]string{"restore ", "register 2", "register 1", "register 3"}, got); err != nil || diff != "" {
		t.Errorf("%v, -want +got\n%s", err, diff)
	}
}
