package catalog_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

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

// TestLargeHistory reads the largest history: each read waits until the mirror has the newest revision.
func TestLargeHistory(t *testing.T) {
	t.Parallel()
	c, _ := open(t)
	if err := c.SetupHistory(testContext(t), bucket.Replication{}); err != nil {
		t.Fatal(err)
	}
	for n := range catalog.MaxHistory {
		text := strings.Repeat(strconv.Itoa(n%10), 1_000_000)
		if _, err := c.Put(testContext(t), skill(1), []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got := revisions(t, c, skill(1)); len(got) != n+1 || !strings.HasSuffix(got[0], text) {
			t.Fatalf("got %d revisions, want %d", len(got), n+1)
		}
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	c, _ := open(t)
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
	revisions(t, c, skill(1)) // waits for the mirror
	put(skill(2), "other")
	put(skill(1), "b")
	revisions(t, c, skill(1))
	if _, _, err := c.Delete(ctx, skill(1), always); err != nil {
		t.Fatal(err)
	}
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
		put(skill(1), fmt.Sprint(i))
		revisions(t, c, skill(1))
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
		ns, err := natsserver.Start(dir, "", func(_ *natsserver.Server, o *server.Options) error {
			o.JetStreamMaxStore = size
			return nil
		})
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

// TestHistoryPersistMode: an existing history keeps its mode, which cannot be changed.
func TestHistoryPersistMode(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		before []jetstream.PersistModeType // of an existing history
		want   jetstream.PersistModeType
	}{
		{"a new history", nil, jetstream.DefaultPersistMode},
		{"one of an earlier release", []jetstream.PersistModeType{jetstream.AsyncPersistMode}, jetstream.AsyncPersistMode},
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
