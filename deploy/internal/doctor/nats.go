package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/schemas"
	"cairn/services"
)

const (
	// natsTimeout bounds the checks of NATS after the connection is established.
	natsTimeout = 10 * time.Second
	// acceptTimeout bounds --accept-loss, which may restore many records.
	acceptTimeout = 10 * time.Minute
	maxNames      = 20 // of records in a finding
)

// names are the streams of Cairn in the account of the workers. Those of required are needed by the roles of a worker;
// the others are absent in some deployments.
var (
	names = []string{
		bucket.StreamPrefix + bucket.Catalog, bucket.StreamPrefix + bucket.Tags, bucket.StreamPrefix + bucket.Quarantine,
		bucket.StreamPrefix + bucket.Embeddings, "cairn_analyze", "cairn_history", "cairn_usage", "cairn_runs",
		bucket.StreamPrefix + bucket.Audit,
	}
	required = names[:3]
)

const keysStream = bucket.StreamPrefix + bucket.Keys // which may be in another account

// streams checks that the streams of Cairn exist, have their replicas, and are not nearly full.
func streams(ctx context.Context, conn, keyConn *bus.Conn) (list []finding) {
	for _, name := range names {
		list = append(list, stream(ctx, conn, name, slices.Contains(required, name))...)
	}
	return append(list, stream(ctx, keyConn, keysStream, true)...)
}

// stream returns the findings about a stream of the account of conn. One that is not needed may be absent.
func stream(ctx context.Context, conn *bus.Conn, name string, needed bool) (list []finding) {
	check := "stream " + strings.TrimPrefix(name, bucket.StreamPrefix)
	info, err := bucket.Describe(ctx, conn.JetStream(), name)
	switch {
	case errors.Is(err, bucket.ErrNoStream) && needed:
		return []finding{warn(check, "does not exist", "run cairn setup with the user of this account")}
	case errors.Is(err, bucket.ErrNoStream):
		return nil
	case err != nil:
		return []finding{fail(check, err, "use the NATS users of cairn setup, and check that JetStream is enabled")}
	}
	for _, problem := range bucket.Problems(info) {
		list = append(list, warn(check, problem, fixFor(problem)))
	}
	if len(list) == 0 {
		list = append(list, ok(check, fmt.Sprintf("%d messages, %d bytes, %d replicas", info.State.Msgs, info.State.Bytes,
			info.Config.Replicas)))
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
	ctx = bus.WithOrigin(ctx, schemas.Origin{Route: "cairn doctor"})
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
