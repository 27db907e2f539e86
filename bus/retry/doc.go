// Package retry repeats operations that failed: [Do] at increasing intervals, and [Budget]
// bounds how many retries requests cause together. Which request may be repeated is documented
// in package bus.
package retry
