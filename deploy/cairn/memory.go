package main

import "runtime/debug"

const (
	// growth is by how much, in percent, what lives is let grow before garbage is
	// collected. Half as much as is usual costs a large heap twice the work for
	// it, and a quarter of the memory less.
	growth = 50
	// untouched counts as living, in bytes.
	untouched = 128 << 20
)

// setCollector sets when garbage is collected, for as long as what it returns is
// kept: memory that is never written, so that the system never provides it. A heap
// that is small would have grown by half many times a second; as what is untouched
// counts, there are 64 MiB of garbage first. Who has set the collector (GOGC,
// GOMEMLIMIT) has decided.
func setCollector(getenv func(string) string) []byte {
	if getenv("GOGC") != "" || getenv("GOMEMLIMIT") != "" {
		return nil
	}
	debug.SetGCPercent(growth)
	return make([]byte, untouched)
}
