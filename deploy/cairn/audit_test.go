package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestAuditCommand makes changes with messages, and prints who made them.
func TestAuditCommand(t *testing.T) {
	t.Parallel()
	url := shared(t)
	dir := t.TempDir()
	write(t, dir, "tools.yaml", "tool_id: a.b.c\n---\ntool_id: a.b.d\n")
	file := filepath.Join(dir, "tools.yaml")
	for _, row := range []step{
		{"an empty log", []string{"audit"}, 0, "no changes found\n"},
		{"a message", []string{"apply", file, "-m", "größere Platten"}, 0, "applied 2 of 2 records"},
		{"a message of a deletion", []string{"delete", "tool", "a.b.d", "--message", "unused"}, 0, "deleted tool/a.b.d\n"},
		{"a message of an edit", []string{"edit", "tool", "a.b.c", "--editor",
			`sed -i s/^tool_id:/purpose:\tx\ntool_id:/`, "-m", "for x"}, 0,
			"edited tool/a.b.c"},
		{"a message of several lines", []string{"delete", "tool", "a.b.c", "-m", "a\nb"}, exitUsage,
			"--message: expected one line"},
		{"a message that is too long", []string{"apply", file, "-m", strings.Repeat("x", 1025)}, exitUsage,
			"--message: expected at most 1024 bytes"},
		{"the log", []string{"audit"}, 0, "  -      delete    audit  tool/a.b.d  "},
		{"the change of an edit", []string{"audit", "--action", "replace"}, 0, "  for x\n"},
		{"the revisions, which give the order", []string{"audit"}, 0, "  NAME        REVISION"},
		{"the changes of a record", []string{"audit", "tool/a.b.c"}, 0, "größere Platten\n"},
		{"a message of an alias", []string{"promote", "tool/a.b.c", "stable", "-m", "tested"}, 0,
			"tool/a.b.c@stable is revision"},
		{"the alias", []string{"audit", "--action", "promote"}, 0, "  tested\n"},
		{"a wrong message of a rollback", []string{"rollback", "tool/a.b.c", "-m", "a\tb"}, exitUsage,
			"--message: expected one line"},
		{"a message of a deleted alias", []string{"promote", "tool/a.b.c", "stable", "--delete", "-m", "gone"}, 0,
			"deleted"},
		{"the deleted alias", []string{"audit", "--action", "delete_alias"}, 0, "  gone\n"},
		{"since a day ago", []string{"audit", "--since", "1d", "--action", "delete"}, 0, "unused"},
		{"until a day ago", []string{"audit", "--until", "24h"}, 0, "no changes found\n"},
		{"over a year", []string{"audit", "--since", "366d", "--until", "2999-01-01T00:00:00Z"}, 0, "unused"},
		{"as lines", []string{"audit", "-o", "ndjson", "--action", "delete"}, 0,
			`"kind":"tool","id":"a.b.d","revision":"`},
		{"as JSON", []string{"audit", "-o", "json", "--limit", "1", "--action", "delete"}, 0,
			`"route": "cairn.records.delete"`},
		{"a limit", []string{"audit", "--limit", "1"}, 0, "the latest 1 changes; raise --limit for more\n"},
		{"of another actor", []string{"audit", "--actor", "ann"}, 0, "no changes found\n"},
		{"of a key", []string{"audit", "key/none"}, 0, "no changes found\n"},
		{"a wrong time", []string{"audit", "--since", "yesterday"}, exitUsage, "--since: expected a time such as"},
		{"since a date", []string{"audit", "--since", "2026-01-01", "--action", "delete"}, 0, "unused"},
		{"until before since", []string{"audit", "--since", "1h", "--until", "2h"}, exitUsage,
			"--until: expected a time after --since"},
		{"a version", []string{"audit", "tool/a.b.c@stable"}, exitUsage, "tool/a.b.c includes the changes of its aliases"},
		{"a kind that does not exist", []string{"audit", "foo/bar"}, exitUsage, "template or key"},
		{"a time in the future", []string{"audit", "--until", "-1h"}, exitUsage, "--until: expected a time such as"},
		{"an unknown action", []string{"audit", "--action", "drop"}, exitUsage, "expected register, replace, delete"},
		{"a kind without an id", []string{"audit", "tool"}, exitUsage, "expected KIND/ID"},
		{"an unknown kind", []string{"audit", "playbook/x"}, exitUsage, "expected KIND/ID"},
		{"two records", []string{"audit", "tool/x", "tool/y"}, exitUsage, "expected at most one KIND/ID"},
		{"the history", []string{"get", "tool", "a.b.c", "--history"}, 0, "for x\n"},
		{"the description", []string{"describe", "tool", "a.b.c"}, 0, "Changed:   2"},
	} {
		row.check(t, "--url", url, "--tenant", "audit")
	}
}
