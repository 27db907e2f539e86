// Package replay stores the events of runs in a JetStream stream and reads them again.
//
// A [Writer] stores the events of one run in order and once: in batches, each a message of
// server-sent events that is published until JetStream acknowledges it. A [Reader] reads them
// from any replica. The stream is in memory and retains messages for two minutes, in at most
// 128 MiB, which are divided among the workers and at each worker among tenants. The first
// message of a run has no event: it records that the run has started. Headers have the start and the
// outcome of a run, so that a list of runs reads one message of each.
package replay
