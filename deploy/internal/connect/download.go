package connect

// DownloadError is an unsuccessful response of a server other than Cairn.
type DownloadError struct {
	StatusCode int
	Status     string // such as "502 Bad Gateway"
}

// Error implements error.
func (e *DownloadError) Error() string { return "responded with " + e.Status + "; expected 200" }
