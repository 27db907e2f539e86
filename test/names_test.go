package test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// TestNamesHavePrefix lists the streams, buckets and consumers of a running system: all have the
// prefix of Cairn, so that it can share a NATS account.
func TestNamesHavePrefix(t *testing.T) {
	everywhere(t, usual, func(t *testing.T, c *client) {
		c.put(t, [2]string{"skill", `{"skill_id":"$.a","purpose":"$"}`})
		watch := c.stream(t, "GET /watch", "") // has its own consumer
		if watch.res.StatusCode != 200 {
			t.Fatalf("watch: status %d", watch.res.StatusCode)
		}
		js, err := jetstream.New(c.dial(t))
		must(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var names []string
		streams := js.ListStreams(ctx)
		for info := range streams.Info() {
			names = append(names, strings.TrimPrefix(info.Config.Name, "KV_"))
			stream, err := js.Stream(ctx, info.Config.Name)
			must(t, err)
			consumers := stream.ConsumerNames(ctx)
			for name := range consumers.Name() {
				names = append(names, name)
			}
			if err := consumers.Err(); err != nil {
				t.Error(err)
			}
		}
		if err := streams.Err(); err != nil || len(names) < 8 {
			t.Fatalf("found %q, %v, want the streams and consumers of the catalog, its history and the tags", names, err)
		}
		for _, name := range names {
			if !strings.HasPrefix(name, "cairn_") {
				t.Errorf("the name %s lacks the prefix cairn_", name)
			}
		}
	})
}
