package schemas

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Record is a registered record: the fields that Cairn interprets, and the JSON
// object as it was received, including unknown fields.
type Record[T any] struct {
	Fields T
	// Raw is the JSON object as it was received; MarshalJSON returns it.
	Raw jsontext.Value
}

// UnmarshalJSON decodes the known fields and stores a copy of data in Raw.
func (r *Record[T]) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, &r.Fields, decodeOptions); err != nil {
		return err
	}
	r.Raw = jsontext.Value(data).Clone()
	return nil
}

// MarshalJSON returns Raw, or the encoded fields if Raw is nil.
func (r Record[T]) MarshalJSON() ([]byte, error) {
	if r.Raw == nil {
		return json.Marshal(r.Fields)
	}
	return r.Raw, nil
}
