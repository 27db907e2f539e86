package tags_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"cairn/bus/bustest"
	"cairn/bus/natsserver"
	"cairn/schemas"
	"cairn/test/wait"
)

// TestCrash starts a server on a copy of the files of a running one, which has what survives a crash of its
// process: all tags that were acknowledged, and none that was deleted or has expired.
func TestCrash(t *testing.T) {
	t.Parallel()
	const written = 50
	dir, crashed := t.TempDir(), t.TempDir()
	server, err := natsserver.Start(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	conn := bustest.Dial(t, server)
	serve(t, conn)
	c := client{t, conn}
	for n := range written {
		id := fmt.Sprint(n)
		if err := errors.Join(c.write(id, "deleted"), c.delete(id)); err != nil {
			t.Fatal(err)
		}
		if n%2 > 0 {
			err = c.write(id, "kept")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := c.write("expired", "old", 1); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "a tag expires", func() bool {
		_, err := c.read("expired")
		return errors.Is(err, schemas.ErrTagNotFound)
	})
	if err := c.write("last", "kept"); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(crashed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	restarted, err := natsserver.Start(crashed, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(restarted.Stop)
	conn = bustest.Dial(t, restarted)
	serve(t, conn)
	c = client{t, conn}
	want := func(id string, exists bool) {
		t.Helper()
		got, err := c.read(id)
		switch {
		case !exists && !errors.Is(err, schemas.ErrTagNotFound):
			t.Errorf("tag %s: got %v, %v, want %v", id, got, err, schemas.ErrTagNotFound)
		case exists && (err != nil || string(got.Tags["phase"]) != `"kept"`):
			t.Errorf("tag %s: got %v, %v, want the tag that was acknowledged last", id, got, err)
		}
	}
	want("expired", false)
	want("last", true)
	for n := range written {
		want(fmt.Sprint(n), n%2 > 0)
	}
}
