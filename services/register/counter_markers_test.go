package register

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/services/internal/catalog"
	"cairn/services/internal/quota"
)

// follower applies messages of a log to a Counter.
type follower struct {
	*Counter
	revision uint64
}

func newFollower() *follower { return &follower{Counter: newCounter(quota.Limit{})} }

const ttl = 7 * 24 * time.Hour // of a marker

func (f *follower) put(key catalog.Key, bytes int64) {
	f.revision++
	f.apply(catalog.Size{Key: key, Bytes: bytes, Revision: f.revision})
}

func (f *follower) remove(key catalog.Key, bytes int64) {
	f.revision++
	f.apply(catalog.Size{Key: key, Bytes: bytes, Revision: f.revision, Expires: time.Now().Add(ttl)})
}

func (f *follower) want(t *testing.T, when string, want quota.Amount) {
	t.Helper()
	if q := f.Quota("acme"); q.Count != want.Count || q.Bytes != want.Bytes {
		t.Errorf("%s: got %d records and %d bytes, want %+v", when, q.Count, q.Bytes, want)
	}
}

func TestMarkersCountUntilTheyExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFollower()
		first, second := catalog.Key{Tenant: "acme", ID: "first"}, catalog.Key{Tenant: "acme", ID: "second"}
		f.put(first, 1000)
		f.put(second, 2000)
		f.remove(first, 300)
		f.want(t, "after a deletion", quota.Amount{Count: 1, Bytes: 2300})
		if f.has(first) {
			t.Error("a deleted record exists")
		}
		time.Sleep(time.Hour)
		f.put(first, 1500)
		f.want(t, "after the marker was replaced", quota.Amount{Count: 2, Bytes: 3500})
		f.remove(first, 300)
		f.remove(second, 400)
		f.want(t, "after further deletions", quota.Amount{Bytes: 700})
		time.Sleep(ttl - time.Minute)
		f.want(t, "after the first marker would have expired", quota.Amount{Bytes: 700})
		time.Sleep(2 * time.Minute)
		f.want(t, "after the expiry", quota.Amount{})
		f.remove(catalog.Key{Tenant: "other", ID: "third"}, 300)
		if n := len(f.messages); n != 1 || len(f.messages["acme"]) != 0 {
			t.Errorf("after a later deletion: %d tenants are in memory, want 1", n)
		}
	})
}

// TestRestartCountsMarkersOnce compares the count by the log as it grows with that of a restart.
func TestRestartCountsMarkersOnce(t *testing.T) {
	t.Parallel()
	c, err := catalog.Setup(t.Context(), bustest.Open(t).JetStream(), bucket.Replication{Replicas: 1})
	if err != nil {
		t.Fatal(err)
	}
	open := func() *Counter {
		counter, err := OpenCounter(t.Context(), c, quota.Limit{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(counter.Close)
		return counter
	}
	counter := open()
	for n := range 3 {
		key := catalog.Key{Kind: schemas.KindTool, Tenant: "acme", ID: fmt.Sprint(n)}
		if _, err := c.Put(t.Context(), key, []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			continue
		}
		if _, err := c.Delete(t.Context(), key, func(uint64) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	newest, err := c.Revision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	applied := func(counter *Counter) schemas.Quota {
		t.Helper()
		if err := counter.applied.Wait(t.Context(), newest); err != nil {
			t.Fatal(err)
		}
		return counter.Quota("acme")
	}
	size := catalog.SizeOf(catalog.Key{Kind: schemas.KindTool, Tenant: "acme", ID: "0"}, nil)
	want := schemas.Quota{Count: 1, Bytes: 3*size + 2}
	if got := applied(counter); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := applied(open()); got != want {
		t.Errorf("after a restart: got %+v, want %+v", got, want)
	}
}
