// Package bucket opens KV buckets with linearizable reads: a read includes every write
// that was acknowledged before it, replicated or not.
//
// A bucket is a JetStream stream with the naming scheme of KV buckets (ADR-8), so that other
// clients can read it. Setup creates or updates its stream, and Bind waits for one that exists.
// A [Reader] writes a fence before a read in a cluster, because a former leader may not know
// yet that it was replaced. Writes are repeated until JetStream acknowledges them or ctx
// ends, and stored once by their message IDs. While the cluster has no leader, operations
// wait. Errors are those of nats.go, and declared ones of package schemas for a full store.
package bucket
