package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/bus/natsserver"
	"cairn/services/internal/catalog"
	"cairn/test/wait"
)

// revisions describes the history of the key, newest first.
func revisions(t *testing.T, c *catalog.Catalog, key catalog.Key) (list []string) {
	t.Helper()
	all, err := c.History(testContext(t), key)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if r.Stored.IsZero() {
			t.Errorf("revision %d has no time", r.Revision)
		}
		text := fmt.Sprintf("%d %s", r.Revision, r.Record)
		if r.Removed {
			text = fmt.Sprintf("%d removed", r.Revision)
		}
		list = append(list, text)
	}
	return list
}

// TestLargeHistory reads revisions that do not fit into the bytes of a small history.
func TestLargeHistory(t *testing.T) {
	t.Parallel()
	c, js := open(t)
	ctx := testContext(t)
	if err := c.SetupHistory(ctx, bucket.Replication{}); err != nil {
		t.Fatal(err)
	}
	const number = 6
	text := strings.Repeat("x", 500_000)
	for range number {
		last, err := c.Put(ctx, skill(1), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		wait.Until(t, "the history has the revision", func() bool {
			s, err := js.Stream(ctx, catalog.HistoryStream)
			return err == nil && s.CachedInfo().State.LastSeq >= last
		})
	}
	if got := revisions(t, c, skill(1)); len(got) != number || got[number-1] != "1 "+text {
		t.Errorf("got %d revisions, want %d", len(got), number)
	}
	release := c.HoldHistory(t, "another tenant")
	defer release()
	canceled, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(100*time.Millisecond, cancel)
	defer timer.Stop()
	if _, err := c.History(canceled, skill(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("beside another large history: got %v, want canceled", err)
	}
	if got := revisions(t, c, skill(2)); len(got) != 0 {
		t.Errorf("a small history beside a large one: got %d revisions", len(got))
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	c, js := open(t)
	ctx := testContext(t)
	if got := revisions(t, c, skill(1)); len(got) != 0 {
		t.Errorf("without a write: got %q", got)
	}
	put := func(key catalog.Key, text string) uint64 {
		t.Helper()
		revision, err := c.Put(ctx, key, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return revision
	}
	put(skill(1), "a")
	if got, want := revisions(t, c, skill(1)), []string{"1 a"}; !cmp.Equal(got, want) {
		t.Errorf("without a history: got %q, want %q", got, want)
	}
	if err := c.SetupHistory(ctx, bucket.Replication{}); err != nil {
		t.Fatal(err)
	}
	written := func(revision uint64) { // the mirror is asynchronous
		t.Helper()
		wait.Until(t, "the history has the revision", func() bool {
			s, err := js.Stream(ctx, catalog.HistoryStream)
			return err == nil && s.CachedInfo().State.LastSeq >= revision
		})
	}
	written(1)
	put(skill(2), "other")
	written(put(skill(1), "b"))
	removed, err := c.Delete(ctx, skill(1), always)
	if err != nil {
		t.Fatal(err)
	}
	written(removed)
	if got, want := revisions(t, c, skill(1)), []string{"4 removed", "3 b", "1 a"}; !cmp.Equal(got, want) {
		t.Errorf("after a deletion: got %q, want %q", got, want)
	}
	if r, err := c.At(ctx, skill(1), 1); err != nil || string(r.Record) != "a" {
		t.Errorf("revision 1: got %+v, %v", r, err)
	}
	if r, err := c.At(ctx, skill(1), 4); err != nil || !r.Removed {
		t.Errorf("the deletion: got %+v, %v", r, err)
	}
	for _, revision := range []uint64{0, 2, 99} { // of no record, of another one, and beyond the log
		if r, err := c.At(ctx, skill(1), revision); !errors.Is(err, catalog.ErrNotFound) {
			t.Errorf("revision %d: got %+v, %v, want %v", revision, r, err, catalog.ErrNotFound)
		}
	}
	for i := range catalog.MaxHistory + 3 {
		written(put(skill(1), fmt.Sprint(i)))
	}
	if got := revisions(t, c, skill(1)); len(got) != catalog.MaxHistory || got[0] != "17 12" || got[9] != "8 3" {
		t.Errorf("got %d revisions, %q", len(got), got)
	}
	if err := c.SetupHistory(ctx, bucket.Replication{Storage: bucket.Storage{Bytes: 1 << 30}}); err != nil {
		t.Errorf("set up an existing history: %v", err)
	}
}

// TestHistoryOfAnotherCatalog checks that the history of a catalog that was deleted is not
// read, and is replaced by the next setup.
func TestHistoryOfAnotherCatalog(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	ctx := testContext(t)
	before, err := catalog.Setup(ctx, conn.JetStream(), bucket.Replication{})
	if err != nil {
		t.Fatal(err)
	}
	if err := before.SetupHistory(ctx, bucket.Replication{}); err != nil {
		t.Fatal(err)
	}
	if _, err := before.Put(ctx, skill(1), []byte("a")); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the history has the revision", func() bool { return len(revisions(t, before, skill(1))) == 1 })
	if err := conn.JetStream().DeleteStream(ctx, catalog.Stream); err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Setup(ctx, conn.JetStream(), bucket.Replication{})
	if err != nil {
		t.Fatal(err)
	}
	if got := revisions(t, c, skill(1)); len(got) != 0 {
		t.Errorf("got %q of the other catalog", got)
	}
	if err := c.SetupHistory(ctx, bucket.Replication{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Put(ctx, skill(1), []byte("b")); err != nil {
		t.Fatal(err)
	}
	if got, want := revisions(t, c, skill(1)), []string{"1 b"}; !cmp.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestHistoryOnShrunkDisk sets up a history again on a server whose disk has less space than its
// streams have reserved: the history is kept.
func TestHistoryOnShrunkDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, size := range []int64{100 << 20, 50 << 20} {
		ns, err := natsserver.Start(dir, "", func(o *server.Options) error { o.JetStreamMaxStore = size; return nil })
		if err != nil {
			t.Fatal(err)
		}
		js := bustest.Dial(t, ns).JetStream()
		replication := bucket.Replication{Storage: bucket.Storage{Bytes: size}}
		c, err := catalog.Setup(t.Context(), js, replication)
		if err == nil {
			err = c.SetupHistory(t.Context(), replication)
		}
		if err != nil {
			t.Errorf("with %d bytes: %v", size, err)
		}
		ns.Stop()
	}
}

// TestHistoryPersistMode: a new history of a stand-alone server is flushed asynchronously, and
// an existing one keeps its mode, which cannot be changed.
func TestHistoryPersistMode(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		before []jetstream.PersistModeType // of an existing history
		want   jetstream.PersistModeType
	}{
		{"a new history", nil, jetstream.AsyncPersistMode},
		{"an existing one that is synced", []jetstream.PersistModeType{jetstream.DefaultPersistMode}, jetstream.DefaultPersistMode},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c, js := open(t)
			for _, mode := range row.before {
				_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{
					Name: catalog.HistoryStream, Mirror: &jetstream.StreamSource{Name: catalog.Stream}, AllowDirect: true,
					PersistMode: mode, Metadata: map[string]string{"cairn-catalog": c.ID()},
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := c.SetupHistory(t.Context(), bucket.Replication{}); err != nil {
				t.Fatal(err)
			}
			s, err := js.Stream(t.Context(), catalog.HistoryStream)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.CachedInfo().Config.PersistMode; got != row.want {
				t.Errorf("got mode %v, want %v", got, row.want)
			}
		})
	}
}
