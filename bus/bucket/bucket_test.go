package bucket_test

import (
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"cairn/bus/bucket"
	"cairn/bus/bustest"
)

// TestConcurrentSetup creates one bucket concurrently: all callers get the same one.
func TestConcurrentSetup(t *testing.T) {
	t.Parallel()
	js := bustest.Open(t).JetStream()
	ids := make([]string, 8)
	var made sync.WaitGroup
	for i := range ids {
		made.Go(func() { ids[i] = openID(t, js) })
	}
	made.Wait()
	for _, id := range ids {
		if id != ids[0] || id == "" {
			t.Errorf("ids %q, want one", ids)
			break
		}
	}
	if err := js.DeleteStream(t.Context(), bucket.StreamPrefix+"b"); err != nil {
		t.Fatal(err)
	}
	if id := openID(t, js); id == ids[0] {
		t.Errorf("%s is also the ID of another bucket", id)
	}
}

func openID(t *testing.T, js jetstream.JetStream) string {
	s, err := bucket.Setup(t.Context(), js, "b", bucket.Replication{}, func(*jetstream.StreamConfig) {})
	if err != nil {
		t.Error(err)
		return ""
	}
	return bucket.ID(s.CachedInfo())
}
