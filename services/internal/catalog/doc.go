// Package catalog is the log of all registrations and deletions, and the source
// of truth: a JetStream key-value bucket with ascending revisions. Everything
// else that stores records is a projection, which follows the log (Catalog.Follow)
// and can be rebuilt.
//
// Writes acknowledged by Put and Delete survive a crash of the server's process, and a power failure as far as
// its sync_interval says (edge/docs/configuration.md, Storage).
//
// # Watermark
//
// The log has only the newest revision of each record, so a follower may receive a gap in the
// revisions: the skipped ones were replaced by revisions that it has not received yet. Its
// watermark stays below the gap until it has received them (type received):
//
//	┌──────────┐  gap from the consumer  ┌───────────┐
//	│          │ ──────────────────────▶ │ consuming │
//	│          │ ◀────────────────────── │           │
//	│ complete │ messages that were      └─────┬─────┘
//	│          │ pending are received          │ new consumer, or it has stalled
//	│          │                               ▼
//	│          │  gap from a replica     ┌───────────┐
//	│          │ ──────────────────────▶ │ unfenced  │ ◀─┐
//	└──────────┘                         └─────┬─────┘   │
//	     ▲                                     │ fence   │ gap from a replica
//	     │                                     ▼ written │
//	     │            fence received     ┌───────────┐   │
//	     └────────────────────────────── │  fenced   │ ──┘
//	                                     └───────────┘
//
// In state consuming, the replica of the consumer has the newer revisions among its pending messages.
// In state unfenced, they may be in any replica: a follower that has received a fence, which was
// written later, has received them too. If the consumer skips revisions meanwhile, the follower
// is in state consuming after the fence.
package catalog
