package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/bus"
	"cairn/bus/bucket"
)

// natsTimeout bounds the checks of NATS after the connection is established.
const natsTimeout = 10 * time.Second

// required lists the buckets that the roles of a worker need.
var required = []string{bucket.Catalog, bucket.Tags, bucket.Quarantine, bucket.Keys}

// streams checks that the streams of Cairn exist, have their replicas, and are not nearly
// full.
func streams(ctx context.Context, conn *bus.Conn) (list []finding) {
	lister := conn.JetStream().ListStreams(ctx)
	names := map[string]bool{}
	for info := range lister.Info() {
		name := strings.TrimPrefix(info.Config.Name, bucket.StreamPrefix)
		if !strings.HasPrefix(name, "cairn_") {
			continue
		}
		names[name] = true
		problems := bucket.Problems(info)
		detail := fmt.Sprintf("%d messages, %d bytes, %d replicas", info.State.Msgs, info.State.Bytes, info.Config.Replicas)
		if len(problems) == 0 {
			list = append(list, ok("stream "+name, detail))
		}
		for _, problem := range problems {
			list = append(list, warn("stream "+name, problem, fixFor(problem)))
		}
	}
	if err := lister.Err(); err != nil {
		return append(list, fail("streams", err,
			"use a NATS user that may list streams, and check that JetStream is enabled"))
	}
	slices.SortFunc(list, func(a, b finding) int { return strings.Compare(a.Check, b.Check) })
	for _, name := range required {
		if !names[name] {
			list = append(list, warn("stream "+name, "does not exist", "run cairn setup with the user of this account"))
		}
	}
	return list
}
