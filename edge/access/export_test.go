package access

import "time"

// SetRefreshInterval sets the age at which the metadata and signing keys of a provider are fetched again.
func (c *Config) SetRefreshInterval(d time.Duration) { c.refreshInterval = d }
