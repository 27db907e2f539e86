package bench

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"cairn/bus/bustest"
)

// BenchmarkTagWrite compares the tag store with one on Redis: with the same durability
// (append-only file, fsync every second), and with each tag synced to disk before its
// acknowledgement (--sync always, appendfsync always).
func BenchmarkTagWrite(b *testing.B) {
	body := func(n int) string {
		return fmt.Sprintf(`{"request_id":"3f2b8c1e-9d47-4a5b-8e21-%012d","flow":"analysis","tags":{"phase":"routing","domain":"network","attempt":1}}`, n)
	}
	for _, row := range []struct {
		name, fsync string
		flags       []string
		writes      int // of a round
	}{
		{"default", "everysec", nil, 16_000}, {"sync", "always", []string{"--sync", "always"}, 4_000},
	} {
		b.Run(row.name, func(b *testing.B) {
			db := redisServer(b, row.fsync)
			stored := baseline(b, "redis "+db.address)
			stored.pids = append(stored.pids, db.pids...)
			cairn := newSide(b, up(b, row.flags...), 32, side{path: "/tags/write", status: 201, body: body})
			baseline := newSide(b, stored, 32, side{path: "/tags/write", status: 201, body: body})
			c, r := compare(b, row.writes, cairn, baseline)
			report(b, "p50-µs", each(c, p50), each(r, p50))
			report(b, "p99-µs", each(c, p99), each(r, p99))
			report(b, "cpu-µs", each(c, work), each(r, work))
			report(b, "req/s", each(c, result.rate), each(r, result.rate))
		})
	}
}

// redisServer starts a Redis server for the benchmark; fsync is its appendfsync.
func redisServer(b *testing.B, fsync string) server {
	b.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		b.Skip("redis-server is not installed")
	}
	address := bustest.FreeAddress(b)
	_, port, _ := strings.Cut(address, ":")
	cmd := exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--dir", b.TempDir(),
		"--save", "", "--appendonly", "yes", "--appendfsync", fsync)
	p := launch(b, cmd)
	db := redis.NewClient(&redis.Options{Addr: address})
	defer func() { _ = db.Close() }()
	ctx, cancel := context.WithTimeout(b.Context(), startTime)
	defer cancel()
	for db.Ping(ctx).Err() != nil {
		select {
		case <-ctx.Done():
			b.Fatal("redis-server does not answer")
		case <-time.After(10 * time.Millisecond):
		}
	}
	return server{address, []int{cmd.Process.Pid}, p}
}
