package main

import (
	"fmt"
	"strings"
	"testing"

	"cairn/test/wait"
)

// TestDescribeAliasOutsideHistory describes an alias of a revision that 10 later ones have removed from the history.
func TestDescribeAliasOutsideHistory(t *testing.T) {
	t.Parallel()
	target := []string{"--url", shared(t), "--tenant", "outside"}
	run := func(stdin string, args ...string) result { return do(t, stdin, append(args, target...)...) }
	run(`{"skill_id": "net.old"}`, "apply", "-")
	run("", "promote", "skill/net.old", "production").must(t)
	later := ""
	for i := range 10 {
		later += fmt.Sprintf(`{"skill_id": "net.old", "version": "1.%d.0"} `, i)
	}
	run(later, "apply", "-")
	for id, want := range map[string]bool{"net.old": true, "net.old@production": false} {
		for _, part := range []struct{ format, change string }{{"text", "Changed:"}, {"json", `"change"`}} {
			got := run("", "describe", "skill/"+id, "-o", part.format)
			if got.code != 0 || strings.Contains(got.out, part.change) != want {
				t.Errorf("%s: %+v, want a change: %t", id, got, want)
			}
		}
	}
}

func TestPromoteAndRollback(t *testing.T) {
	t.Parallel()
	url := shared(t)
	for _, version := range []string{"1.0.0", "1.1.0"} {
		do(t, `{"skill_id": "net.pinned", "version": "`+version+`"}`, "apply", "--url", url, "--tenant", "promote", "-")
		wait.Until(t, "the history has version "+version, func() bool { // it omits revisions that are replaced at once
			return do(t, "", "resolve", "net.pinned@"+version, "--url", url, "--tenant", "promote").code == 0
		})
	}
	do(t, `{"skill_id": "net.single"}`, "apply", "--url", url, "--tenant", "promote", "-")
	history := do(t, "", "get", "skill/net.pinned", "--history", "-o", "name", "--url", url, "--tenant", "promote").out
	revisions := strings.Fields(history)
	first := revisions[len(revisions)-1]
	for _, row := range []struct {
		name, command string
		code          int
		want          string // part of the output
	}{
		{"an alias of a version", "promote skill/net.pinned@1.0.0 production", 0, "skill/net.pinned@production is revision "},
		{"of the newest revision", "promote skill/net.pinned staging", 0, ", version 1.1.0"},
		{"an absent version", "promote skill/net.pinned@3.0.0 production", exitNotFound, ""},
		{"an absent record", "promote skill/net.none production", exitNotFound, ""},
		{"a version is no alias", "promote skill/net.pinned 1.0.0", exitUsage, ""},
		{"it resolves", "resolve net.pinned@production -o json", 0, `"version": "1.0.0"`},
		{"and is printed as a record", "get skill/net.pinned@production -o json", 0, `"version": "1.0.0"`},
		{"or described", "describe skill/net.pinned@production", 0, "production"},
		{"a rollback to the revision before", "rollback skill/net.pinned", 0, " of skill/net.pinned again, as revision "},
		{"changes the record", "get skill/net.pinned -o json", 0, `"version": "1.0.0"`},
		{"a rollback to an alias", "rollback skill net.pinned --to staging", 0, ""},
		{"changes it again", "get skill/net.pinned -o json", 0, `"version": "1.1.0"`},
		{"a rollback to a version", "rollback skill/net.pinned --to 1.0.0", 0, ""},
		{"changes it, too", "get skill/net.pinned -o json", 0, `"version": "1.0.0"`},
		{"an absent version to roll back to", "rollback skill/net.pinned --to 9.0.0", exitNotFound, "has no version 9.0.0"},
		{"an invalid revision", "rollback skill/net.pinned --to X", exitUsage, ""},
		{"no record", "rollback skill/net.none", exitNotFound, ""},
		{"an alias is deleted", "promote skill/net.pinned staging --delete", 0, "deleted skill/net.pinned@staging"},
		{"a deletion names the aliases", "delete skill/net.pinned", 0, "deleted skill/net.pinned and its aliases production"},
		{"a rollback of a deletion", "rollback skill/net.pinned", 0, ""},
		{"restores the record", "get skill/net.pinned -o json", 0, `"version": "1.0.0"`},
		{"an alias of a revision", "promote skill/net.pinned@" + first + " oldest", 0,
			"skill/net.pinned@oldest is revision " + first},
		{"an absent revision", "promote skill/net.pinned@999999 oldest", exitNotFound, "revision 999999"},
		{"a rollback to the registered revision", "rollback skill/net.pinned --to oldest", 0, "unchanged: skill/net.pinned"},
		{"to an empty version", "rollback skill/net.pinned --to=", exitUsage, "--to: expected a version"},
		{"a deletion of an absent alias", "promote skill/net.pinned none --delete", exitNotFound,
			"no alias skill/net.pinned@none"},
		{"of an alias with a version", "promote skill/net.pinned@oldest none --delete", exitUsage, "without a version"},
		{"a record with one revision", "rollback skill/net.single", exitNotFound, "has no revision before the newest one"},
	} {
		got := do(t, "", append(strings.Fields(row.command), "--url", url, "--tenant", "promote")...)
		if got.code != row.code || !strings.Contains(got.out+got.err, row.want) {
			t.Errorf("%s: cairn %s: got %+v, want code %d and %q", row.name, row.command, got, row.code, row.want)
		}
	}
}
