// Package backup saves the durable state of Cairn to a file and restores it to an
// empty cluster: the catalog, the quarantine of its index, the API keys, and the tags
// that have not expired. Analyses and cached vectors are not included: they expire, or
// are recomputed.
//
// The file is gzip-compressed NDJSON: a Header, one entry for each value of a bucket
// in the order of revisions, and an End with counts. "zcat FILE | jq" prints it. The
// End is a separate gzip member that contains the SHA-256 of all preceding bytes.
//
// Save does not block readers or writers. Restore changes nothing unless the buckets of the
// backup are empty or absent; existing tags are kept.
package backup
