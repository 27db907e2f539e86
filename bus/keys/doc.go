// Package keys stores the API keys of an edge's callers in a KV bucket: role, tenants
// and the hash of the secret, never the secret.
//
// An edge verifies keys with a [Ring], a copy of the bucket in memory that is read again every
// 400 ms: a revoked key is refused after that time at the latest. While NATS is unavailable
// the ring keeps its keys.
package keys
