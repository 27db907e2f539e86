package tags_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/schemas"
	"cairn/services/internal/quota"
	"cairn/services/tags"
	"cairn/test/wait"
)

func limited(count, bytes int64) tags.Settings {
	return tags.Settings{Limit: quota.Limit{
		Amount: quota.Amount{Count: count, Bytes: bytes}, Things: "tags", CountFlag: "--tenant-tags",
		BytesFlag: "--tenant-tags-size",
	}}
}

// writeFor writes a tag of the tenant; empty: the global scope.
func (c client) writeFor(tenant, id string, seconds int) error {
	w := schemas.TagWrite{Tag: tag(id, "one"), TTLSeconds: &seconds}
	if tenant != "" {
		w.TenantID = &tenant
	}
	_, err := bus.WriteTag.Call(c.t.Context(), c.conn, w)
	return err
}

func TestTenantTagLimit(t *testing.T) {
	t.Parallel()
	server, conn := bustest.Start(t)
	serveWith(t, conn, limited(3, 0), tags.DefaultTTL)
	c := client{t, conn}
	for _, tenant := range []string{"", "acme"} {
		for n := range 3 {
			if err := c.writeFor(tenant, fmt.Sprint(n), 600); err != nil {
				t.Fatalf("tag %d of %q: %v", n, tenant, err)
			}
		}
	}
	exceeded := func(c client, tenant, want string) {
		t.Helper()
		err := c.writeFor(tenant, "more", 600)
		if !errors.Is(err, schemas.ErrTooManyRequests) || !strings.Contains(err.Error(), want) {
			t.Errorf("one more of %q: got %v, want %v: %s", tenant, err, schemas.ErrTooManyRequests, want)
		}
	}
	exceeded(c, "acme", "tenant acme uses 3 of 3 tags; delete tags or raise --tenant-tags")
	exceeded(c, "", "the global scope uses 3 of 3 tags")
	if err := c.writeFor("acme", "0", 600); !errors.Is(err, schemas.ErrTagExists) {
		t.Errorf("an existing tag at the limit: got %v, want %v", err, schemas.ErrTagExists)
	}
	if err := c.writeFor("other", "more", 600); err != nil {
		t.Errorf("another tenant: %v", err)
	}

	late := client{t, bustest.Dial(t, server)} // a worker that starts later
	serveWith(t, late.conn, limited(3, 0), tags.DefaultTTL)
	for range 10 { // either worker
		exceeded(c, "acme", "uses 3 of 3")
	}
	if err := c.delete("0"); err != nil {
		t.Fatal(err)
	}
	wait.Success(t, func() error { return c.writeFor("", "more", 600) })
	wait.Until(t, "both workers count the write", func() bool {
		for range 20 { // either worker
			if q, err := bus.TagQuota.Call(t.Context(), conn, schemas.QuotaQuery{}); err != nil || q.Count != 3 {
				return false
			}
		}
		return true
	})
	for range 10 {
		if err := c.writeFor("", "even more", 600); !errors.Is(err, schemas.ErrTooManyRequests) {
			t.Errorf("after one delete and one write: got %v, want %v", err, schemas.ErrTooManyRequests)
		}
	}
}

func TestTenantByteLimit(t *testing.T) {
	t.Parallel()
	c := serving(t, limited(0, 700))
	if err := c.writeFor("acme", "one", 600); err != nil {
		t.Fatal(err)
	}
	if err := c.writeFor("acme", "two", 600); err != nil {
		t.Fatal(err)
	}
	err := c.writeFor("acme", "three", 600)
	if !errors.Is(err, schemas.ErrTooManyRequests) ||
		!strings.Contains(err.Error(), "of 700 bytes of tags; this write needs ") {
		t.Errorf("got %v, want %v and the bytes", err, schemas.ErrTooManyRequests)
	}
}

// TestExpiredTagsAreNotCounted includes tags that were written before the worker
// started.
func TestExpiredTagsAreNotCounted(t *testing.T) {
	t.Parallel()
	server, conn := bustest.Start(t)
	store, err := tags.Create(t.Context(), conn, limited(2, 0))
	if err != nil {
		t.Fatal(err)
	}
	service := bustest.Service(t, conn, "tags")
	if err := tags.Serve(service, store, tags.DefaultTTL); err != nil {
		t.Fatal(err)
	}
	c := client{t, bustest.Dial(t, server)}
	for n := range 2 {
		if err := c.writeFor("acme", fmt.Sprint(n), 4); err != nil {
			t.Fatal(err)
		}
	}
	if err := service.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	store.Close()
	serveWith(t, bustest.Dial(t, server), limited(2, 0), tags.DefaultTTL)
	if err := c.writeFor("acme", "third", 600); !errors.Is(err, schemas.ErrTooManyRequests) {
		t.Errorf("after a restart: got %v, want %v", err, schemas.ErrTooManyRequests)
	}
	wait.Success(t, func() error { return c.writeFor("acme", "third", 600) })
}

// TestLimitHoldsForSeveralWorkers has two workers take concurrent writes: the
// limit is exceeded at most by those that are in flight at the same moment.
func TestLimitHoldsForSeveralWorkers(t *testing.T) {
	t.Parallel()
	const limit, writers = 200, 16
	server, conn := bustest.Start(t)
	serveWith(t, conn, limited(limit, 0), tags.DefaultTTL)
	serveWith(t, bustest.Dial(t, server), limited(limit, 0), tags.DefaultTTL)
	var written atomic.Int64
	var writing sync.WaitGroup
	for writer := range writers {
		writing.Go(func() {
			for n := range 50 {
				switch err := (client{t, conn}).writeFor("acme", fmt.Sprintf("%d-%d", writer, n), 600); {
				case err == nil:
					written.Add(1)
				case !errors.Is(err, schemas.ErrTooManyRequests):
					t.Errorf("got %v", err)
				}
			}
		})
	}
	writing.Wait()
	if got := written.Load(); got < limit || got > limit+limit/2 {
		t.Errorf("%d tags were written, want %d and at most a few more", got, limit)
	}
}

// TestTagCountCoversTheStorage compares the count with the bytes that the server counts.
func TestTagCountCoversTheStorage(t *testing.T) {
	t.Parallel()
	const written = 50
	server, conn := bustest.Start(t)
	serveWith(t, conn, limited(0, 0), tags.DefaultTTL)
	c := client{t, conn}
	for n := range written {
		if err := c.writeFor("acme", fmt.Sprint(n), 600); err != nil {
			t.Fatal(err)
		}
	}
	serveWith(t, bustest.Dial(t, server), limited(0, 0), tags.DefaultTTL) // before these tags are announced
	s, err := conn.JetStream().Stream(t.Context(), bucket.StreamPrefix+bucket.Tags)
	if err != nil {
		t.Fatal(err)
	}
	stored, acme := int64(s.CachedInfo().State.Bytes), "acme"
	var counted int64
	for range 20 { // either worker
		q, err := bus.TagQuota.Call(t.Context(), conn, schemas.QuotaQuery{TenantID: &acme})
		switch {
		case err != nil || q.Bytes < stored || q.Bytes > stored+160*written:
			t.Errorf("got %+v and %v, the stream has %d bytes", q, err, stored)
		case counted != 0 && q.Bytes != counted:
			t.Errorf("one worker counts %d bytes, and another one %d", counted, q.Bytes)
		}
		counted = q.Bytes
	}
}

// TestCountOfWorkerStartedDuringWrites counts each tag once, whether a worker finds it in the bucket at
// its start, in an announcement, or in both, and no deleted one.
func TestCountOfWorkerStartedDuringWrites(t *testing.T) {
	t.Parallel()
	const written, deleted = 200, 100
	server, conn := bustest.Start(t)
	serveWith(t, conn, limited(0, 0), tags.DefaultTTL)
	acme := "acme"
	var first sync.WaitGroup
	first.Add(written / 2)
	var writing sync.WaitGroup
	writing.Go(func() {
		for n := range written {
			if err := (client{t, conn}).writeFor("acme", fmt.Sprint(n), 600); err != nil {
				t.Errorf("tag %d: %v", n, err)
			}
			if n%2 == 0 {
				_, err := bus.DeleteTag.Call(t.Context(), conn, schemas.TagKey{RequestID: fmt.Sprint(n / 2), TenantID: &acme})
				if err != nil {
					t.Errorf("delete tag %d: %v", n/2, err)
				}
			}
			if n < written/2 {
				first.Done()
			}
		}
	})
	first.Wait()
	serveWith(t, bustest.Dial(t, server), limited(0, 0), tags.DefaultTTL)
	writing.Wait()
	wait.Until(t, "both workers count each tag once", func() bool {
		for range 20 { // either worker
			if q, err := bus.TagQuota.Call(t.Context(), conn, schemas.QuotaQuery{TenantID: &acme}); err != nil ||
				q.Count != written-deleted {
				return false
			}
		}
		return true
	})
}

// TestCountOfPausedBucket counts a bucket whose server sends nothing for 2 s, as a busy one may do.
func TestCountOfPausedBucket(t *testing.T) {
	t.Parallel()
	const written = 10_000
	server, conn := bustest.Start(t)
	if err := tags.Setup(t.Context(), conn.JetStream(), tags.Settings{}); err != nil {
		t.Fatal(err)
	}
	fill(t, conn.JetStream(), written)
	const stream = bucket.StreamPrefix + tags.Bucket
	const pulls = "$JS.API.CONSUMER.MSG.NEXT." + stream + "."
	js := bustest.Dial(t, server).JetStream()
	paused := map[string]bool{}
	_, err := js.Conn().Subscribe(pulls+">", func(msg *nats.Msg) {
		name := strings.TrimPrefix(msg.Subject, pulls)
		if paused[name] {
			return
		}
		paused[name] = true
		if _, err := js.PauseConsumer(t.Context(), stream, name, time.Now().Add(2*time.Second)); err != nil {
			t.Errorf("pause consumer %s: %v", name, err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	store, err := tags.Open(t.Context(), bustest.Dial(t, server), limited(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if q := store.Quota("tenant-1"); q.Count != written/100 {
		t.Errorf("got %d tags of a tenant, want %d", q.Count, written/100)
	}
}

func TestTenantTagsLeaveRoomInTheBucket(t *testing.T) {
	t.Parallel()
	conn := bustest.Open(t)
	settings := limited(0, 1<<30)
	settings.Storage.Bytes = 20_000 // 5,000 for tags
	serveWith(t, conn, settings, tags.DefaultTTL)
	c := client{t, conn}
	var err error
	for n := 0; err == nil && n < 100; n++ {
		err = c.writeFor("acme", fmt.Sprint(n), 600)
	}
	const want = " of 4000 bytes of tags, 80 % of the storage of the bucket; this write needs "
	if !errors.Is(err, schemas.ErrTooManyRequests) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %v: %s", err, schemas.ErrTooManyRequests, want)
	}
	if err := c.writeFor("other", "one", 600); err != nil {
		t.Errorf("another tenant: %v", err)
	}
	if q, err := bus.TagQuota.Call(t.Context(), conn, schemas.QuotaQuery{}); err != nil || q.MaxBytes != 4000 {
		t.Errorf("got the quota %+v and %v, want at most 4000 bytes", q, err)
	}
	settings.Storage.Bytes = 40_000
	if err := tags.Setup(t.Context(), conn.JetStream(), settings); err != nil {
		t.Fatal(err)
	}
	wait.Success(t, func() error { return c.writeFor("acme", "more", 600) })
}
