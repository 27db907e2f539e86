package backup_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus"
	"cairn/bus/backup"
	"cairn/bus/bustest"
)

const header = `{"cairn_backup":1,"buckets":[{"name":"cairn_catalog","config":{}},{"name":"cairn_quarantine","config":{}},` +
	`{"name":"cairn_keys","config":{}}]}` + "\n"

// FuzzBackup reads arbitrary bytes as a file, and arbitrary lines in a file with valid
// checksums: each is rejected with an expected error or restored completely.
func FuzzBackup(f *testing.F) {
	for _, seed := range [][2]string{
		{header, `{"bucket":"cairn_catalog","key":"skill._global.a","revision":3,"value":{"skill_id":"a"}}` + "\n"},
		{header, `{"bucket":"cairn_catalog","key":"skill.acme.=YQ","revision":7,"removed":true}` + "\n" +
			`{"bucket":"cairn_keys","key":"k","revision":1,"base64":"AAEC"}`},
		{header, `{"bucket":"cairn_catalog","key":"a","revision":1}` + "\n" +
			`{"bucket":"cairn_quarantine","key":"x","revision":1,"value":{"key":"a","revision":1}}` + "\n{}"},
		{header, `{"bucket":"cairn_keys","key":"a b\r\nPUB x 0","revision":18446744073709551615}`},
		{header, `{"bucket":"cairn_quarantine","key":">","revision":2}`},
		{`{"cairn_backup":3,"cairn":"9.1.0"}`, ""},
		{`{"cairn_backup":1,"buckets":[{"name":"cairn_catalog"},{"name":"cairn_catalog","config":[]}]}`, ""},
		{`{`, "\xff"},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
		f.Add(backup.Sealed([]byte(seed[0]+seed[1])), []byte(nil))
	}
	conn := bustest.Open(f)
	f.Fuzz(func(t *testing.T, text, entries []byte) {
		for _, file := range [][]byte{text, backup.Sealed(text), backup.Sealed(append(text, entries...))} {
			_, err := backup.Check(bytes.NewReader(file))
			if err != nil && !errors.Is(err, backup.ErrForeign) && !errors.Is(err, backup.ErrLater) &&
				!errors.Is(err, backup.ErrDamaged) &&
				!errors.Is(err, backup.ErrNothing) {
				t.Errorf("a file is rejected with an unexpected error: %v", err)
			}
		}
		restore(t, conn, backup.Sealed(append([]byte(header), entries...)))
	})
}

// restore restores the file to an empty server and saves a backup of the result.
func restore(t *testing.T, conn *bus.Conn, file []byte) {
	t.Helper()
	s, err := backup.Check(bytes.NewReader(file))
	if err != nil {
		return
	}
	for _, name := range []string{"KV_cairn_catalog", "KV_cairn_quarantine", "KV_cairn_keys"} {
		stream, err := conn.JetStream().Stream(t.Context(), name)
		if err == nil {
			err = stream.Purge(t.Context()) // a deleted stream may reappear when it is recreated immediately
		}
		if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			t.Fatal(err)
		}
	}
	if err := s.Restore(t.Context(), conn, conn, 0); err != nil {
		t.Fatalf("a valid file was not restored: %v", err)
	}
	var again bytes.Buffer
	now, err := backup.Save(t.Context(), conn, conn, &again, nil)
	if err != nil || now.Entries["cairn_catalog"] > s.Entries["cairn_catalog"] ||
		now.Entries["cairn_keys"] > s.Entries["cairn_keys"] ||
		now.Revision < s.Revision && now.Entries["cairn_catalog"] > 0 {
		t.Errorf("restored %+v, and then saved %+v, %v", s.End, now.End, err)
	}
	if _, err := backup.Check(bytes.NewReader(again.Bytes())); err != nil {
		t.Errorf("a backup of the restored data is refused: %v", err)
	}
}
