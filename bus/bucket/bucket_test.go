package bucket_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"
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
	bustest.Must(t, js.DeleteStream(t.Context(), bucket.StreamPrefix+"b"))
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

// TestWaitReadyDuringRecovery: WaitReady retries while a stand-alone server does not respond in time, but
// not without JetStream.
func TestWaitReadyDuringRecovery(t *testing.T) {
	t.Parallel()
	js := bustest.Open(t).JetStream()
	for _, row := range []struct {
		name     string
		failure  error
		attempts int
		want     error
	}{
		{"a request that exceeds its deadline", context.DeadlineExceeded, 3, nil},
		{"a request that timed out", nats.ErrTimeout, 3, nil},
		{"no JetStream", nats.ErrNoResponders, 1, nats.ErrNoResponders},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			attempts := 0
			err := bucket.WaitReady(t.Context(), js, "test", func() error {
				if attempts++; attempts < 3 {
					return row.failure
				}
				return nil
			})
			if attempts != row.attempts || !errors.Is(err, row.want) {
				t.Errorf("got %d attempts, %v, want %d, %v", attempts, err, row.attempts, row.want)
			}
		})
	}
}
