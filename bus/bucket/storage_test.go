package bucket_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
	"cairn/bus/bustest"
	"cairn/bus/natsserver"
	"cairn/schemas"
	"cairn/test/wait"
)

func TestBucketsShareTheStorage(t *testing.T) {
	t.Parallel()
	js := bustest.Open(t).JetStream()
	for _, row := range []struct {
		name    string
		storage bucket.Storage
		want    int64 // MaxBytes of the tags
	}{
		{"a bucket without a setting is unlimited", bucket.Storage{}, -1},
		{"an existing bucket gets its share", bucket.Storage{Bytes: 400 << 20}, 100 << 20},
		{"without a setting it keeps its limit", bucket.Storage{}, 100 << 20},
		{"an initial limit leaves a limited bucket alone", bucket.Storage{Bytes: 800 << 20, Initial: true}, 100 << 20},
		{"a larger setting raises the limit", bucket.Storage{Bytes: 800 << 20}, 200 << 20},
		{"a smaller setting lowers the limit", bucket.Storage{Bytes: 40 << 20}, 10 << 20},
	} {
		s, err := bucket.Setup(t.Context(), js, bucket.Tags, bucket.Replication{Storage: row.storage},
			func(*jetstream.StreamConfig) {})
		if err != nil {
			t.Fatalf("%s: %v", row.name, err)
		}
		c := s.CachedInfo().Config
		if c.MaxBytes != row.want || c.Discard != jetstream.DiscardNew {
			t.Errorf("%s: got %d bytes, discard %v; want %d, %v", row.name, c.MaxBytes, c.Discard, row.want,
				jetstream.DiscardNew)
		}
	}
}

func TestSharesLeaveRoom(t *testing.T) {
	t.Parallel()
	js := bustest.Open(t).JetStream()
	total := int64(0)
	for _, name := range []string{bucket.Catalog, bucket.Tags, bucket.Embeddings, bucket.Quarantine, bucket.Keys,
		bucket.Audit} {
		limited := bucket.Replication{Storage: bucket.Storage{Bytes: 100 << 20}}
		s, err := bucket.Setup(t.Context(), js, name, limited, func(*jetstream.StreamConfig) {})
		bustest.Must(t, err)
		if s.CachedInfo().Config.MaxBytes <= 0 {
			t.Errorf("bucket %s has no limit", name)
		}
		total += s.CachedInfo().Config.MaxBytes
	}
	if total > 95<<20 {
		t.Errorf("the buckets may take %d of %d bytes", total, 100<<20)
	}
}

// limited starts a server with the storage limit.
func limited(t *testing.T, bytes int64) jetstream.JetStream {
	t.Helper()
	s, err := natsserver.Start(t.TempDir(), "", func(_ *natsserver.Server, o *server.Options) error {
		o.JetStreamMaxStore = bytes
		return nil
	})
	bustest.Must(t, err)
	t.Cleanup(s.Stop)
	return bustest.Dial(t, s).JetStream()
}

// TestBucketFull fills a bucket up to each of its limits: the error is returned without delay.
func TestBucketFull(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		server  int64 // its storage limit
		storage bucket.Storage
		shape   func(*jetstream.StreamConfig)
		want    string
	}{
		{"the limit of the bucket", 1 << 30, bucket.Storage{Bytes: 4 << 20}, func(*jetstream.StreamConfig) {},
			"the tag store is full (maximum bytes exceeded)"},
		{"a limit of messages", 1 << 30, bucket.Storage{}, func(c *jetstream.StreamConfig) { c.MaxMsgs = 5 },
			"the tag store is full (maximum messages exceeded)"},
		{"the limit of the server", 1 << 20, bucket.Storage{}, func(*jetstream.StreamConfig) {},
			"the tag store is full (insufficient resources)"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			js := limited(t, row.server)
			if _, err := bucket.Setup(t.Context(), js, bucket.Tags, bucket.Replication{Storage: row.storage},
				row.shape); err != nil {
				t.Fatal(err)
			}
			var err error
			for n := range 100 {
				err = bucket.WithReplyMargin(t.Context(), "tag store", func(ctx context.Context) error {
					_, err := js.Publish(ctx, fmt.Sprintf("$KV.cairn_tags.%d", n), bytes.Repeat([]byte("x"), 100<<10))
					return err
				})
				if err != nil {
					break
				}
			}
			var seen *schemas.Error
			if !errors.As(err, &seen) || seen.Code != schemas.ErrUnavailable.Code || seen.Detail != row.want {
				t.Errorf("got %v, want %v: %s", err, schemas.ErrUnavailable, row.want)
			}
		})
	}
}

// A storage limit above that of the server is rejected with an error that contains the
// remedy.
func TestStorageBeyondTheServer(t *testing.T) {
	t.Parallel()
	_, err := bucket.Setup(t.Context(), limited(t, 1<<20), bucket.Tags,
		bucket.Replication{Storage: bucket.Storage{Bytes: 1 << 30}}, func(*jetstream.StreamConfig) {})
	if err == nil || !strings.Contains(err.Error(), "--storage-limit") {
		t.Errorf("got %v, want an error with the remedy", err)
	}
}

func TestStorageWarnings(t *testing.T) {
	t.Parallel()
	js := bustest.Open(t).JetStream()
	replication := bucket.Replication{Storage: bucket.Storage{Bytes: 4 << 20}}
	if _, err := bucket.Setup(t.Context(), js, bucket.Tags, replication, func(*jetstream.StreamConfig) {}); err != nil {
		t.Fatal(err)
	}
	if got, err := bucket.ProblemsOf(t.Context(), js, replication, "KV_cairn_tags", "KV_cairn_keys"); err != nil ||
		len(got) > 0 {
		t.Errorf("an empty bucket: got %q, %v", got, err)
	}
	if _, err := js.Publish(t.Context(), "$KV.cairn_tags.x", make([]byte, 900<<10)); err != nil {
		t.Fatal(err)
	}
	got, err := bucket.ProblemsOf(t.Context(), js, replication, "KV_cairn_tags")
	if err != nil || len(got) != 1 || !strings.HasPrefix(got[0], "bucket cairn_tags is 88 % full: ") {
		t.Errorf("got %q, %v, want bucket cairn_tags and its percentage", got, err)
	}
}

// A cluster without a leader does not reply to a request, so FindStorage sends it again.
func TestStorageOfClusterWithoutLeader(t *testing.T) {
	t.Parallel()
	nc, js := withoutJetStream(t, &server.Options{Cluster: server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: -1}})
	requests := 0
	bustest.Subscribe(t, nc, "$JS.API.INFO", func(m *nats.Msg) {
		if requests++; requests > 1 {
			_ = m.Respond([]byte(`{"limits":{"max_storage":300}}`)) // an error makes the request fail
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), wait.Timeout)
	defer cancel()
	var got bucket.Storage
	err := bucket.WaitReady(ctx, js, "find the storage limit", func() (err error) {
		got, err = bucket.FindStorage(ctx, js, 3)
		return err
	})
	if want := (bucket.Storage{Bytes: 100}); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}
