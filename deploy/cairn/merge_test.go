package main

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

func TestRestoreMerges(t *testing.T) {
	t.Parallel()
	s, nats := reached(t)
	cairn := func(stdin, command string) result {
		t.Helper()
		return do(t, stdin, append(strings.Fields(command), "--url", s.http)...)
	}
	apply := func(tenant, text string) {
		t.Helper()
		cairn(text, "apply - --tenant "+tenant).must(t)
	}
	apply("acme", `{"tool_id": "a.b.lost", "version": "1.0.0"}`)
	apply("acme", `[{"tool_id": "a.b.kept"}, {"tool_id": "a.b.changed"}]`)
	apply("globex", `{"tool_id": "a.b.lost", "version": "9.0.0"}`)
	cairn("", "promote tool/a.b.lost production --tenant acme")
	apply("acme", `{"tool_id": "a.b.lost", "version": "2.0.0"}`)
	cairn("", "promote tool/a.b.lost staging --tenant acme")
	file := filepath.Join(t.TempDir(), "cairn.backup")
	do(t, "", "backup", file, "--nats", nats).must(t)
	apply("acme", `[{"tool_id": "a.b.changed", "purpose": "wrong"}, {"tool_id": "a.b.new"}]`)
	cairn("", "delete tool/a.b.lost --tenant acme")
	cairn("", "delete tool/a.b.lost --tenant globex")

	const changes = "replaced tool/a.b.changed\ncreated tool/a.b.lost\npromoted tool/a.b.lost@production\n" +
		"promoted tool/a.b.lost@staging\n"
	restore := "restore " + file
	for _, row := range []struct {
		name, command string
		code          int
		want          string // begin of the output
	}{
		{"flags without --merge", restore + " --dry-run", exitUsage, ""},
		{"a record without a kind", restore + " --merge --record a.b.lost", exitUsage, ""},
		{"no backup", "restore promote_test.go --merge", exitUsage, ""},
		{"a record that the backup does not have", restore + " --merge --tenant acme --record tool/a.b.new", exitNotFound,
			""},
		{"the global scope has none", restore + " --merge", 0, "restored 0 of 0 records of "},
		{"a dry run", restore + " --merge --tenant acme --dry-run", 0, changes + "compared 3 of 3 records of "},
		{"changes nothing", "get tool/a.b.lost --tenant acme", exitNotFound, ""},
		{"one record", restore + " --merge --tenant acme --record tools/a.b.changed", 0,
			"replaced tool/a.b.changed\nrestored 1"},
		{"the other records", restore + " --merge --tenant acme", 0,
			strings.TrimPrefix(changes, "replaced tool/a.b.changed\n")},
		{"are as they were", "get tool/a.b.lost --tenant acme -o yaml", 0, "tool_id: a.b.lost\nversion: 2.0.0\n"},
		{"with their aliases", "get tool/a.b.lost@production --tenant acme -o yaml", 0, "tool_id: a.b.lost\nversion: 1.0.0\n"},
		{"and their records", "get tool/a.b.lost@staging --tenant acme -o yaml", 0, "tool_id: a.b.lost\nversion: 2.0.0\n"},
		{"a record that is not in the backup stays", "get tool/a.b.new --tenant acme -o name", 0, "tool/a.b.new\n"},
		{"and the other tenant is unchanged", "get tool/a.b.lost --tenant globex", exitNotFound, ""},
		{"again, nothing changes", restore + " --merge --tenant acme", 0, "restored 3 of 3 records of "},
	} {
		got := cairn("", row.command)
		text := strings.ReplaceAll(got.out, "tenant_id: acme\n", "")
		if got.code != row.code || !strings.HasPrefix(text, row.want) {
			t.Errorf("%s: cairn %s: got %+v, want code %d and %q", row.name, row.command, got, row.code, row.want)
		}
	}
	refused := serving(t, func(w http.ResponseWriter, r *http.Request) { // has no record, and rejects registrations
		code, status := "CE-081", http.StatusNotFound
		if r.Method == http.MethodPut {
			code, status = "CE-007", http.StatusForbidden
		}
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"code": %q, "status": %d}`, code, status)
	})
	if got := do(t, "", "restore", file, "--merge", "--tenant", "acme", "--url", refused); got.code != exitRejected ||
		!strings.HasPrefix(got.out, "restored 0 of 3 records of ") || !strings.HasSuffix(got.out, ", 3 refused\n") {
		t.Errorf("refused registrations: %+v", got)
	}
	target, toNATS := reached(t)
	if got := do(t, "", "restore", file, "--nats", toNATS); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	got := do(t, "", "get", "tool/a.b.lost@production", "--tenant", "acme", "-ojson", "--url", target.http)
	if !strings.Contains(got.out, `"version": "1.0.0"`) {
		t.Errorf("an alias of a restored backup: %+v", got)
	}
}
