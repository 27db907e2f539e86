package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"cairn/test/cairntest"
	"cairn/test/wait"
)

// TestWatchCommand checks that changes are printed as they happen, and that the revision
// of one continues after it.
func TestWatchCommand(t *testing.T) {
	t.Parallel()
	url := shared(t)
	watching := begin(t, program("watch", "tool", "--prefix", "watched.", "--url", url, "-o",
		"json"))
	n := 0
	wait.Until(t, "the registration is printed", func() bool {
		n++
		cairntest.Request(t, "PUT", url+"/records/skill/watched.skill", fmt.Sprintf(`{"purpose":"%d"}`, n))
		cairntest.Request(t, "PUT", url+"/records/tool/watched.tools.list", fmt.Sprintf(`{"description":"%d"}`, n))
		return strings.Contains(watching.output(), `"id":"watched.tools.list"`)
	})
	cairntest.Request(t, "DELETE", url+"/records/tool/watched.tools.list", "")
	wait.Until(t, "the deletion is printed", func() bool {
		return strings.Contains(watching.output(), `"event":"deleted"`)
	})
	if err := watching.Cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := watching.waitExit(t); code != 0 || strings.Contains(watching.output(), "watched.skill") {
		t.Errorf("exit code %d, want 0:\n%s", code, watching.output())
	}
	_, rest, _ := strings.Cut(watching.output(), `"revision":"`)
	revision, _, _ := strings.Cut(rest, `"`)
	later := begin(t, program("watch", "--prefix", "watched.", "--url", url, "--since", revision))
	wait.Until(t, "the later changes are printed", func() bool {
		return strings.Contains(later.output(), "deleted     tool/watched.tools.list  global")
	})
}

func TestWatchInvalidRequests(t *testing.T) {
	t.Parallel()
	url := shared(t)
	refuse(t, []refusal{
		{"an unknown kind", []string{"playbook"}, `unknown kind "playbook"`},
		{"two kinds", []string{"skill,tool"}, "expected at most one KIND"},
		{"a malformed revision", []string{"--since", "yesterday"}, "after"},
	}, "watch", "--url", url)
}
