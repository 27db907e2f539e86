//go:build !linux && !darwin && !freebsd

package natsserver

// diskSpace returns 0: the space is unknown.
func diskSpace(string) (free, total int64) { return 0, 0 }
