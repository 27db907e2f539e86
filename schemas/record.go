package schemas

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Record is a record as its owner wrote it, unknown fields included, beside
// the fields that have a meaning here.
type Record[T any] struct {
	Fields T
	// Raw is the JSON object as it was sent; Encode gives it back.
	Raw jsontext.Value
}

// UnmarshalJSON reads the known fields and keeps the whole.
func (r *Record[T]) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, &r.Fields, decodeOptions); err != nil {
		return err
	}
	r.Raw = jsontext.Value(data).Clone()
	return nil
}

// MarshalJSON gives the record back as it was sent.
func (r Record[T]) MarshalJSON() ([]byte, error) {
	if r.Raw == nil {
		return json.Marshal(r.Fields)
	}
	return r.Raw, nil
}
