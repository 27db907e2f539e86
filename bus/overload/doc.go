// Package overload limits how many requests a process runs at once, by the scheduling
// latency of its goroutines, and divides that limit among tenants. The Go scheduler does
// not distinguish tenants, so its queue is kept short: requests wait in queues per tenant
// instead, for a bounded time and in bounded number.
//
// A [Gate] admits a request, which gets a [Slot], up to a capacity, and runs as many of the
// admitted ones as keep the latency low. A request pauses its slot while it waits for a backend
// (Idle, IdleAfter), and releases it for a long wait (Leave). The caller closes the slot.
package overload
