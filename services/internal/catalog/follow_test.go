package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
	"cairn/schemas"
	"cairn/services/internal/catalog"
)

func contextWithCancel(t testing.TB) (context.Context, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(testContext(t))
	t.Cleanup(cancel)
	return ctx, cancel
}

// following returns a view with its own follower, which stops at the end of the
// test. ready is closed when the view has caught up.
func following(t *testing.T, c *catalog.Catalog) (view *view, ready chan struct{}) {
	t.Helper()
	view, ready = catalog.NewView[[]byte](), make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	var last uint64
	go func() {
		ended <- c.Follow(ctx, func(changes []catalog.Change) error {
			for _, change := range changes {
				if change.Revision < last || change.Revision == last && change.IsRecord() {
					t.Errorf("revision %d after %d", change.Revision, last)
				}
				last = change.Revision
			}
			apply(view, changes...)
			return nil
		}, func() { close(ready) })
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Follow: %v", err)
		}
	})
	return view, ready
}

func put(t testing.TB, c *catalog.Catalog, n int, record string) uint64 {
	t.Helper()
	revision, err := c.Put(testContext(t), skill(n), []byte(record))
	if err != nil {
		t.Fatal(err)
	}
	return revision
}

func waitApplied(t testing.TB, view *view, revision uint64) {
	t.Helper()
	if err := view.Applied.Wait(testContext(t), revision); err != nil {
		t.Fatalf("revision %d is not applied, view at %d: %v", revision, view.Applied.Revision(), err)
	}
}

// contents returns the skills of the view by id.
func contents(view *view) map[string]string {
	all := map[string]string{}
	for id, record := range view.After(catalog.Collection{Kind: schemas.KindSkill}, "") {
		all[id] = string(record)
	}
	return all
}

func TestFollow(t *testing.T) {
	t.Parallel()
	c, _ := open(t)
	put(t, c, 1, `{"v":1}`)
	put(t, c, 2, `{"v":2}`)
	put(t, c, 1, `{"v":3}`)
	view, ready := following(t, c)
	<-ready
	want := map[string]string{skill(1).ID: `{"v":3}`, skill(2).ID: `{"v":2}`}
	if diff := cmp.Diff(want, contents(view)); diff != "" {
		t.Errorf("when ready (-want +got):\n%s", diff)
	}
	put(t, c, 3, `{"v":4}`)
	deleted, _, err := c.Delete(testContext(t), skill(2), always)
	if err != nil {
		t.Fatal(err)
	}
	waitApplied(t, view, deleted)
	want = map[string]string{skill(1).ID: `{"v":3}`, skill(3).ID: `{"v":4}`}
	if diff := cmp.Diff(want, contents(view)); diff != "" {
		t.Errorf("later (-want +got):\n%s", diff)
	}
}

func TestFollowEmptyLog(t *testing.T) {
	t.Parallel()
	c, _ := open(t)
	view, ready := following(t, c)
	<-ready
	waitApplied(t, view, put(t, c, 1, `{}`))
}

func TestFollowReplaysDeletion(t *testing.T) {
	t.Parallel()
	c, _ := open(t)
	put(t, c, 1, `{}`)
	deleted, _, err := c.Delete(testContext(t), skill(1), always)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := contextWithCancel(t)
	var got []catalog.Change
	err = c.Follow(ctx, func(changes []catalog.Change) error { got = append(got, changes...); return nil }, stop)
	want := []catalog.Change{{Key: skill(1), Revision: deleted, Removed: true}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(catalog.Change{}, "Stored", "First"),
		cmpopts.IgnoreUnexported(catalog.Change{})); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestFollowSkipsForeignMessages(t *testing.T) {
	t.Parallel()
	c, js := open(t)
	for _, subject := range []string{"$KV.cairn_catalog.playbook._global.a", "$KV.cairn_catalog.stray"} {
		if _, err := js.Publish(testContext(t), subject, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	view, ready := following(t, c)
	<-ready
	waitApplied(t, view, put(t, c, 1, `{}`))
}

func TestFollowApplyError(t *testing.T) {
	t.Parallel()
	c, _ := open(t)
	for n := range 10 {
		put(t, c, n, `{}`)
	}
	broken := errors.New("apply failed")
	if err := c.Follow(testContext(t), func([]catalog.Change) error { return broken }, nil); !errors.Is(err, broken) {
		t.Errorf("Follow = %v, want %v", err, broken)
	}
}

func TestFollowClosedConnection(t *testing.T) {
	t.Parallel()
	c, js := open(t)
	err := c.Follow(testContext(t), func([]catalog.Change) error { return nil }, js.Conn().Close)
	if err == nil {
		t.Error("Follow returned nil")
	}
}

// TestFollowServerRestart restarts the server, with its files, below a follower.
func TestFollowServerRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startListening(t, dir, -1)
	js := connectTo(t, s)
	c, err := catalog.Setup(testContext(t), js, bucket.Replication{Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	view, ready := following(t, c)
	<-ready
	for round := range 3 {
		waitApplied(t, view, put(t, c, round, fmt.Sprint(round)))
		port := portOf(t, s)
		s.Shutdown()
		s.WaitForShutdown()
		s = startListening(t, dir, port)
		reconnected(t, js)
	}
	waitApplied(t, view, put(t, c, 3, "3"))
	want := map[string]string{skill(0).ID: "0", skill(1).ID: "1", skill(2).ID: "2", skill(3).ID: "3"}
	if diff := cmp.Diff(want, contents(view)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFollowLeaksNoConsumer is not parallel: it inspects all goroutines of the
// process.
func TestFollowLeaksNoConsumer(t *testing.T) {
	c, _ := open(t)
	for n := range 3 {
		put(t, c, n, `{}`)
	}
	for range 10 {
		if err := replay(t, c, catalog.NewView[[]byte]()); err != nil {
			t.Fatal(err)
		}
		broken := errors.New("broken")
		if err := c.Follow(testContext(t), func([]catalog.Change) error { return broken }, nil); !errors.Is(err, broken) {
			t.Fatal(err)
		}
	}
	running := func() bool {
		var stacks strings.Builder
		if err := pprof.Lookup("goroutine").WriteTo(&stacks, 1); err != nil {
			t.Fatal(err)
		}
		return strings.Contains(stacks.String(), "nats.go/jetstream.")
	}
	for ctx := testContext(t); running(); {
		if ctx.Err() != nil {
			t.Fatal("a consumer is still running")
		}
	}
}

// TestFollowPausedConsumer pauses the consumer: the follower reads the log directly.
func TestFollowPausedConsumer(t *testing.T) {
	t.Parallel()
	c, js := open(t)
	put(t, c, 1, `{}`)
	view, ready := following(t, c)
	<-ready
	pauseConsumers(t, js, time.Hour)
	last := put(t, c, 2, `{"n":2}`)
	if err := view.Applied.Wait(testContext(t), last); err != nil {
		t.Fatalf("at revision %d: %v", view.Applied.Revision(), err)
	}
	if record, _ := view.Get(skill(2)); string(record) != `{"n":2}` {
		t.Errorf("the record is %s", record)
	}
}

// TestWatermarkOfSkippedRevision replaces a revision before a follower receives it, from
// the consumer or directly from the log: its watermark does not pass that revision before
// the follower has the replacement, and then reaches the end of the log.
func TestWatermarkOfSkippedRevision(t *testing.T) {
	t.Parallel()
	for name, stalled := range map[string]bool{"from the consumer": false, "directly": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, js := open(t)
			before := put(t, c, 1, "before")
			var skipped, last atomic.Uint64
			ready, blocked, release := make(chan struct{}), make(chan struct{}), make(chan struct{})
			ctx, stop := contextWithCancel(t)
			ended := make(chan error, 1)
			go func() {
				record := before
				ended <- c.Follow(ctx, func(changes []catalog.Change) error {
					for _, change := range changes {
						if change.Key == skill(1) {
							record = change.Revision
						}
						if first := skipped.Load(); first > 0 && change.Watermark() >= first && record < first {
							t.Errorf("at revision %d with watermark %d: the record has revision %d, want %d or later",
								change.Revision, change.Watermark(), record, first)
						}
						if end := last.Load(); end > 0 && change.Watermark() >= end {
							stop()
						}
					}
					if changes[0].Revision == before+1 {
						close(blocked)
						<-release
					}
					return nil
				}, func() { close(ready) })
			}()
			<-ready
			put(t, c, 2, "the follower blocks")
			<-blocked
			pauseConsumers(t, js, time.Hour)
			skipped.Store(put(t, c, 1, "skipped"))
			put(t, c, 3, "between")
			last.Store(put(t, c, 1, "replacement"))
			if !stalled {
				pauseConsumers(t, js, 0)
			}
			close(release)
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				t.Error("the watermark does not reach the end of the log")
			}
		})
	}
}

// pauseConsumers pauses the consumers of the log for the given time.
func pauseConsumers(t *testing.T, js jetstream.JetStream, d time.Duration) {
	t.Helper()
	s, err := js.Stream(testContext(t), catalog.Stream)
	if err != nil {
		t.Fatal(err)
	}
	for info := range s.ListConsumers(testContext(t)).Info() {
		if _, err := s.PauseConsumer(testContext(t), info.Name, time.Now().Add(d)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestViewReachesEveryFence writes messages that are not records, which advance
// fences and views.
func TestViewReachesEveryFence(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		open func(*testing.T) (*catalog.Catalog, jetstream.JetStream)
	}{
		{"one server", func(t *testing.T) (*catalog.Catalog, jetstream.JetStream) { return open(t) }},
		{"a cluster", func(t *testing.T) (*catalog.Catalog, jetstream.JetStream) {
			cluster, leader, c := startCluster(t)
			return c, cluster.Conns[leader].JetStream()
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c, js := row.open(t)
			view, ready := following(t, c)
			<-ready
			for n := range 3 {
				written := eventually(t, func() (uint64, error) { return c.Put(shortContext(t), skill(n), []byte(`{}`)) })
				if _, err := js.Publish(testContext(t), "$KV.cairn_catalog.stray", []byte("x")); err != nil {
					t.Fatal(err)
				}
				fence := eventually(t, func() (uint64, error) { return c.Fence(shortContext(t)) })
				if fence <= written {
					t.Errorf("fence %d, want more than the write's %d", fence, written)
				}
				waitApplied(t, view, fence)
				if _, ok := view.Get(skill(n)); !ok {
					t.Errorf("record %d is missing at revision %d", n, fence)
				}
			}
		})
	}
}

// TestRevisionReadsNoRecord measures the bytes received for the revision of a log
// whose last record is large.
func TestRevisionReadsNoRecord(t *testing.T) {
	t.Parallel()
	c, js := open(t)
	want := put(t, c, 1, strings.Repeat("x", 900<<10))
	before := js.Conn().Stats().InBytes
	for _, read := range []func(context.Context) (uint64, error){c.Revision, c.Fence} {
		if got, err := read(testContext(t)); got != want || err != nil {
			t.Errorf("got %d, %v, want %d", got, err, want)
		}
	}
	if in := js.Conn().Stats().InBytes - before; in > 64<<10 {
		t.Errorf("the server sent %d bytes", in)
	}
}

// TestWatermarkDuringWrites replaces the same records all the time while the consumer is
// paused: the watermark still passes every acknowledged write.
func TestWatermarkDuringWrites(t *testing.T) {
	t.Parallel()
	c, js := open(t)
	first := put(t, c, 1, `{}`)
	view, ready := following(t, c)
	<-ready
	waitApplied(t, view, first)
	pauseConsumers(t, js, time.Hour)
	ctx, stop := contextWithCancel(t)
	var writers sync.WaitGroup
	for n := range 4 {
		writers.Go(func() {
			for ctx.Err() == nil {
				_, _ = c.Put(ctx, skill(n), []byte(`{}`)) // fails at the end
			}
		})
	}
	defer writers.Wait()
	defer stop()
	for range 8 {
		if err := view.Applied.Wait(ctx, put(t, c, 5, `{}`)); err != nil {
			t.Fatalf("view at revision %d: %v", view.Applied.Revision(), err)
		}
	}
}
