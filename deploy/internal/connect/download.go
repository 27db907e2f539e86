package connect

// StatusError is the response of a server other than Cairn with a status other than 200.
type StatusError struct {
	StatusCode int
	Status     string // such as "502 Bad Gateway"
}

// Error implements error.
func (e *StatusError) Error() string { return "responded with " + e.Status + "; expected 200" }
