package register

import (
	"fmt"

	"cairn/schemas"
)

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
	// maxSuggested is the maximum number of absent references of a request for which the ids
	// of the catalog are searched.
	maxSuggested = 4
	// maxSimilar is the maximum number of ids of the catalog that are compared with absent references of a
	// request. All keys of a tenant count: the server lists those with the same number of segments.
	maxSimilar = 10_000
)

func advice(suggested string) string {
	if suggested == "" {
		return "register it, or correct the reference"
	}
	return fmt.Sprintf("did you mean %q?", suggested)
}
