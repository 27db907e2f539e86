package main

// collectLess lets garbage gather for as long as what it returns is kept: memory
// that is never written, so that the system never provides it. The collector runs whenever the heap has
// doubled, and what lives here is small: many times a second, for a sixth of all
// work. With 64 MiB that count and cost nothing, it runs after 64 MiB of garbage
// at the earliest; a large heap is collected as before. Who has set the
// collector (GOGC, GOMEMLIMIT) has decided.
func collectLess(getenv func(string) string) []byte {
	if getenv("GOGC") != "" || getenv("GOMEMLIMIT") != "" {
		return nil
	}
	return make([]byte, 64<<20)
}
