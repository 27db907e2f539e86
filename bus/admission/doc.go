// Package admission bounds how much work a process holds at once and divides
// that capacity among tenants, so that one tenant's load is refused before it
// can displace another's.
//
// A [Pool] counts units that its user chooses, such as requests or bytes. Acquire fails at
// once, and Wait blocks in a queue per tenant; the caller bounds the number of pending
// calls. Units that were granted are returned with Release, whatever the capacity is then.
// All methods may be called concurrently.
package admission
