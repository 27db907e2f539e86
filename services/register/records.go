package register

import "cairn/schemas"

// putEntry returns the entry of a valid request.
func putEntry(req schemas.PutRecord) (entry, error) {
	body, err := req.Registration()
	if err != nil {
		return entry{}, err
	}
	registration, err := schemas.DecodeRegistration(req.Kind, body)
	if err != nil {
		return entry{}, err
	}
	e, err := entryOf(registration)
	e.strict, e.wrapper = req.Strict, "record"
	return e, err
}

const (
	// maxChecked is the maximum number of references checked per record.
	maxChecked = 100
	// maxLookups bounds the concurrent lookups of a request.
	maxLookups = 16
)
