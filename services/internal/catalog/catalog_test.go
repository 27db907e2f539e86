package catalog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/test/wait"
)

func TestPutGetDelete(t *testing.T) {
	t.Parallel()
	c, _ := open(t)
	ctx, key := testContext(t), catalog.Key{Kind: schemas.KindAgent, Tenant: "acme", ID: "net.prüfer"}
	if _, err := c.Get(ctx, key); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("before the first write: %v", err)
	}
	first, err := c.Put(ctx, key, []byte(`{"a":1}`))
	if err != nil {
		t.Fatal(err)
	}
	second, err := c.Put(ctx, key, []byte(`{"a":2}`))
	if err != nil || second <= first {
		t.Fatalf("revision %d after %d, %v", second, first, err)
	}
	got, err := c.Get(ctx, key)
	if err != nil || string(got.Record) != `{"a":2}` || got.Revision != second {
		t.Errorf("Get = %+v, %v", got, err)
	}
	third, _, err := c.Delete(ctx, key, always)
	if err != nil || third <= second {
		t.Errorf("deleted at revision %d after %d, %v", third, second, err)
	}
	if _, err := c.Get(ctx, key); !errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("after the deletion: %v", err)
	}
}

func TestDeleteAbsent(t *testing.T) {
	t.Parallel()
	c, _ := open(t)
	ctx := testContext(t)
	if got, _, err := c.Delete(ctx, skill(1), always); got != 0 || err != nil {
		t.Errorf("in an empty log: revision %d, %v, want 0", got, err)
	}
	put, err := c.Put(ctx, skill(1), record)
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := c.Delete(ctx, skill(2), always); got != put || err != nil {
		t.Errorf("unwritten key: revision %d, %v, want the newest, %d", got, err, put)
	}
	deleted, _, err := c.Delete(ctx, skill(1), always)
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := c.Delete(ctx, skill(1), always); got != deleted || err != nil {
		t.Errorf("a second time: revision %d, %v, want %d", got, err, deleted)
	}
	if got, err := c.Revision(ctx); got != deleted || err != nil {
		t.Errorf("the log is at revision %d, %v, want %d", got, err, deleted)
	}
}

func TestConcurrentDeletes(t *testing.T) {
	t.Parallel()
	c, _ := open(t)
	ctx := testContext(t)
	put, err := c.Put(ctx, skill(1), record)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if got, _, err := c.Delete(ctx, skill(1), always); got != put+1 || err != nil {
				t.Errorf("deleted at revision %d, %v, want %d", got, err, put+1)
			}
		})
	}
	wg.Wait()
}

// TestConcurrentPuts runs many callers, some of them with the same key.
func TestConcurrentPuts(t *testing.T) {
	t.Parallel()
	c, _ := open(t)
	ctx := testContext(t)
	const callers, each = 200, 5
	var mu sync.Mutex
	wrote := map[uint64]catalog.Key{}
	newest := map[catalog.Key]uint64{}
	values := map[uint64][]byte{}
	var wg sync.WaitGroup
	for n := range callers {
		wg.Go(func() {
			for i := range each {
				key, value := skill(n/2), fmt.Appendf(nil, `{"n":%d,"i":%d}`, n, i)
				revision, err := c.Put(ctx, key, value)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				wrote[revision], values[revision] = key, value
				newest[key] = max(newest[key], revision)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(wrote) != callers*each {
		t.Errorf("%d revisions for %d writes", len(wrote), callers*each)
	}
	for key, revision := range newest {
		got, err := c.Get(ctx, key)
		if err != nil || got.Revision != revision || !bytes.Equal(got.Record, values[revision]) {
			t.Errorf("%v is %s at revision %d, %v, want %s at %d",
				key, got.Record, got.Revision, err, values[revision], revision)
		}
	}
}

func TestReplacedLog(t *testing.T) {
	t.Parallel()
	c, js := open(t)
	if _, err := c.Put(testContext(t), skill(1), record); err != nil {
		t.Fatal(err)
	}
	again, err := catalog.Setup(testContext(t), js, bucket.Replication{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Get(testContext(t), skill(1)); err != nil {
		t.Error(err)
	}
	if again.ID() != c.ID() {
		t.Errorf("ID = %s, and %s after reopening", c.ID(), again.ID())
	}
	watched := make(chan error)
	go func() { watched <- c.Monitor(testContext(t), time.Millisecond) }()
	if err := js.DeleteStream(testContext(t), catalog.Stream); err != nil {
		t.Fatal(err)
	}
	if err := <-watched; !errors.Is(err, catalog.ErrReplaced) {
		t.Errorf("Monitor = %v, want %v", err, catalog.ErrReplaced)
	}
	replaced, err := catalog.Setup(testContext(t), js, bucket.Replication{})
	if err != nil {
		t.Fatal(err)
	}
	if replaced.ID() == c.ID() {
		t.Errorf("ID = %s for a new log, want another", c.ID())
	}
	if err := c.Monitor(testContext(t), time.Millisecond); !errors.Is(err, catalog.ErrReplaced) {
		t.Errorf("Monitor = %v, want %v", err, catalog.ErrReplaced)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := replaced.Monitor(ended, time.Hour); err != nil {
		t.Errorf("Monitor = %v after its context has ended", err)
	}
}

// TestKeyValueCompatible reads through the KV interface of the NATS client.
func TestKeyValueCompatible(t *testing.T) {
	t.Parallel()
	c, js := open(t)
	ctx := testContext(t)
	revision, err := c.Put(ctx, skill(1), record)
	if err != nil {
		t.Fatal(err)
	}
	kv, err := js.KeyValue(ctx, catalog.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	entry, err := kv.Get(ctx, skill(1).String())
	if err != nil || entry.Revision() != revision || !bytes.Equal(entry.Value(), record) {
		t.Errorf("Get = %v, %v", entry, err)
	}
	if _, _, err := c.Delete(ctx, skill(1), always); err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Get(ctx, skill(1).String()); !errors.Is(err, jetstream.ErrKeyNotFound) {
		t.Errorf("after the deletion: %v", err)
	}
}

// The marker of a deletion does not expire: the server would read the record again from its files after a crash.
func TestMarkersHaveNoTTL(t *testing.T) {
	t.Parallel()
	c, js := open(t)
	if _, err := c.Put(testContext(t), skill(1), record); err != nil {
		t.Fatal(err)
	}
	revision, _, err := c.Delete(testContext(t), skill(1), always)
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(testContext(t), catalog.Stream)
	if err != nil {
		t.Fatal(err)
	}
	marker, err := s.GetMsg(testContext(t), revision)
	if err != nil || !bucket.Removes(marker.Header) || marker.Header.Get(jetstream.MsgTTLHeader) != "" {
		t.Errorf("got %+v, %v, want a delete marker without TTL", marker, err)
	}
}

// A log whose last message has expired can be followed from its beginning.
func TestFollowAfterExpiredMarker(t *testing.T) {
	t.Parallel()
	c, js := open(t)
	if _, err := c.Put(testContext(t), skill(1), record); err != nil {
		t.Fatal(err)
	}
	marker := bucket.Marker("$KV." + catalog.Bucket + "." + skill(2).String())
	marker.Header.Set(jetstream.MsgTTLHeader, "1s")
	ack, err := js.PublishMsg(testContext(t), marker)
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(testContext(t), catalog.Stream)
	if err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the marker has expired", func() bool {
		_, err := s.GetMsg(testContext(t), ack.Sequence)
		return errors.Is(err, jetstream.ErrMsgNotFound)
	})
	if revision, err := c.Revision(testContext(t)); err != nil || revision != ack.Sequence {
		t.Errorf("revision %d, %v, want %d", revision, err, ack.Sequence)
	}
	view, ready := following(t, c)
	select {
	case <-ready:
	case <-testContext(t).Done():
		t.Fatal("the follower is not ready")
	}
	if _, ok := view.Get(skill(1)); !ok {
		t.Error("the follower lacks a record")
	}
}

// TestStoredByAnEarlierAttempt repeats writes whose acknowledgements were lost: the server checks
// the expected sequence before it detects the duplicate.
func TestStoredByAnEarlierAttempt(t *testing.T) {
	t.Parallel()
	c, _ := open(t)
	ctx := bucket.WithRequest(testContext(t), "one")
	errExists := errors.New("exists")
	absent := func(revision uint64) error {
		if revision != 0 {
			return errExists
		}
		return nil
	}
	first, err := c.PutIf(ctx, skill(1), []byte("{}"), absent)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := c.PutIf(ctx, skill(1), []byte("{}"), absent); err != nil || again != first {
		t.Errorf("got %+v, %v, want %+v", again, err, first)
	}
	_, err = c.PutIf(bucket.WithRequest(ctx, "another"), skill(1), []byte("{}"), absent)
	if !errors.Is(err, errExists) {
		t.Errorf("another write: got %v, want %v", err, errExists)
	}
	present := func(revision uint64) error {
		if revision == 0 {
			return catalog.ErrNotFound
		}
		return nil
	}
	ctx = bucket.WithRequest(ctx, "deletion")
	removed, _, err := c.Delete(ctx, skill(1), present)
	if err != nil {
		t.Fatal(err)
	}
	if again, _, err := c.Delete(ctx, skill(1), present); err != nil || again != removed {
		t.Errorf("got revision %d, %v, want that of the deletion, %d", again, err, removed)
	}
}
