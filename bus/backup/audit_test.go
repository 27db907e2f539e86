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
	bustest.Must(t, audit.Setup(t.Context(), conn.JetStream(), bucket.Replication{}, audit.DefaultRetention))
	l, err := audit.Open(t.Context(), conn.JetStream())
	bustest.Must(t, err)
	return l
}

// TestRestoreAddsToAuditLog restores a backup to a server whose audit log has an entry.
func TestRestoreAddsToAuditLog(t *testing.T) {
	t.Parallel()
	source, target := filled(t), bustest.Open(t)
	add := func(conn *bus.Conn, id string) {
		t.Helper()
		e := schemas.AuditEntry{Action: schemas.ActionRegister, ID: id, Revision: "ID-" + id}
		bustest.Must(t, audit.Add(t.Context(), conn.JetStream(), e))
	}
	log(t, source)
	after := log(t, target)
	add(source, "1")
	add(source, "2")
	add(target, "3")
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
