package catalog_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/bus/natsserver"
	"cairn/services/internal/catalog"
	"cairn/test/wait"
)

// TestDamagedBlock damages the file of the log: Setup detects the loss and gives the log another ID, and AcceptLoss
// restores the records from the history.
func TestDamagedBlock(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		damage func(block []byte) []byte
		lost   int // number of records
	}{
		{"the last bytes", overwrite(0.99), 1},
		{"the middle", overwrite(0.7), 11},
		{"a missing end", func(block []byte) []byte { return block[:len(block)*7/10] }, 11},
		{"all", func([]byte) []byte { return nil }, 39},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			server, c := setup(t, dir)
			const last = 40
			for n := range last {
				register(t, c, skill(n), `{"name":"before"}`)
			}
			if _, _, err := c.Delete(t.Context(), skill(last-1), always); err != nil {
				t.Fatal(err)
			}
			waitCopied(t, server, last+1)
			damaged := damage(t, dir, row.damage)
			id := c.ID()
			_, c = setup(t, damaged)
			lost := names(lostOf(t, c))
			if c.ID() == id || len(lost) != row.lost {
				t.Fatalf("got ID %s, want another one than %s; got %q as lost, want %d", c.ID(), id, lost, row.lost)
			}
			marked := c.ID()
			_, c = setup(t, crash(t, damaged))
			if again := names(lostOf(t, c)); c.ID() != marked || !cmp.Equal(again, lost) {
				t.Errorf("after a restart: got ID %s, %q, want %s, %q", c.ID(), again, marked, lost)
			}
			register(t, c, skill(last-2), `{"name":"after"}`)
			if _, _, err := c.Delete(t.Context(), skill(last-3), always); err != nil {
				t.Fatal(err)
			}
			restored, err := c.AcceptLoss(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if rest := lostOf(t, c); len(rest) > 0 || len(restored) > len(lost) {
				t.Errorf("restored %q of %q, and %q are lost", names(restored), lost, names(rest))
			}
			for n := range last - 3 {
				if r, err := c.Get(t.Context(), skill(n)); err != nil || !strings.Contains(string(r.Record), "before") {
					t.Errorf("record %d: got %s, %v", n, r.Record, err)
				}
			}
			if r, err := c.Get(t.Context(), skill(last-2)); err != nil || !strings.Contains(string(r.Record), "after") {
				t.Errorf("the record that was registered since: got %s, %v", r.Record, err)
			}
			for _, n := range []int{last - 1, last - 3} {
				if r, err := c.Get(t.Context(), skill(n)); err == nil {
					t.Errorf("deleted record %d: got %s", n, r.Record)
				}
			}
			wait.Until(t, "the history mirrors the log again", func() bool { return len(revisions(t, c, skill(1))) == 1 })
		})
	}
}

// TestUndamagedBlock sets up the log again after a crash: it has the same ID.
func TestUndamagedBlock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server, c := setup(t, dir)
	register(t, c, skill(1), "{}")
	waitCopied(t, server, 1)
	_, again := setup(t, crash(t, dir))
	if list := lostOf(t, again); c.ID() != again.ID() || len(list) > 0 {
		t.Errorf("got ID %s, lost %q, want %s and none", again.ID(), names(list), c.ID())
	}
}

// setup starts a server and sets up the log and its history.
func setup(t *testing.T, dir string) (*natsserver.Server, *catalog.Catalog) {
	t.Helper()
	server, err := natsserver.Start(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	c, err := catalog.Setup(testContext(t), bustest.Dial(t, server).JetStream(), bucket.Replication{})
	if err == nil {
		err = c.SetupHistory(testContext(t), bucket.Replication{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return server, c
}

func register(t *testing.T, c *catalog.Catalog, key catalog.Key, record string) {
	t.Helper()
	if _, err := c.Put(t.Context(), key, []byte(record)); err != nil {
		t.Fatal(err)
	}
}

// waitCopied waits until the history has the revision.
func waitCopied(t *testing.T, server *natsserver.Server, revision uint64) {
	t.Helper()
	js := bustest.Dial(t, server).JetStream()
	wait.Until(t, "the history has the log", func() bool {
		s, err := js.Stream(t.Context(), catalog.HistoryStream)
		return err == nil && s.CachedInfo().State.LastSeq == revision
	})
}

// crash returns a copy of the data directory, which has what survives a crash of the server.
func crash(t *testing.T, dir string) string {
	t.Helper()
	crashed := t.TempDir()
	if err := os.CopyFS(crashed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return crashed
}

// damage returns a copy of the data directory in which the file of the log is changed.
func damage(t *testing.T, dir string, change func(block []byte) []byte) string {
	t.Helper()
	damaged := crash(t, dir)
	file := filepath.Join(damaged, "jetstream", "$G", "streams", catalog.Stream, "msgs", "1.blk")
	block, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, change(block), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return damaged
}

// overwrite overwrites 8 bytes before the position, a fraction of the block.
func overwrite(position float64) func([]byte) []byte {
	return func(block []byte) []byte {
		end := int(float64(len(block)) * position)
		copy(block[end-8:end], "\xff\xff\xff\xff\xff\xff\xff\xff")
		return block
	}
}

func lostOf(t *testing.T, c *catalog.Catalog) []catalog.Lost {
	t.Helper()
	list, err := c.Lost(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func names(list []catalog.Lost) (names []string) {
	for _, lost := range list {
		names = append(names, lost.String())
	}
	return names
}
