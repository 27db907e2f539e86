package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/services"
)

const (
	// natsTimeout bounds the checks of NATS after the connection is established.
	natsTimeout = 10 * time.Second
	// acceptTimeout bounds --accept-loss, which may restore many records.
	acceptTimeout = 10 * time.Minute
	maxNames      = 20 // of records in a finding
)

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

// lostRecords lists the lost records that can be restored.
func lostRecords(ctx context.Context, conn *bus.Conn) []finding {
	const check = "lost records"
	list, err := services.LostRecords(ctx, conn)
	switch {
	case err != nil:
		return []finding{fail(check, err, "use a NATS user that may read the catalog and its history")}
	case len(list) == 0:
		return nil
	}
	return []finding{warn(check, "the history has "+describe(list), fixFor(lostMessages))}
}

// acceptLoss accepts losses and restores records.
func acceptLoss(ctx context.Context, conn, keyConn *bus.Conn) finding {
	const check = "accept loss"
	ctx, cancel := context.WithTimeout(ctx, acceptTimeout)
	defer cancel()
	restored, err := services.AcceptLoss(ctx, conn, keyConn)
	if err != nil {
		return fail(check, err, "retry with a NATS user that may update streams and write records: records that were restored stay")
	}
	return ok(check, "restored "+describe(restored))
}

// describe returns the number of the records and their first names.
func describe(records []string) string {
	text := fmt.Sprintf("%d records", len(records))
	if len(records) > 0 {
		text += ": " + strings.Join(records[:min(len(records), maxNames)], ", ")
	}
	if len(records) > maxNames {
		text += ", …"
	}
	return text
}
