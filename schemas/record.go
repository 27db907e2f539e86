package schemas

import (
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Record is a registered record: the fields that Cairn interprets, and the JSON
// object as it was received, including unknown fields.
type Record[T any] struct {
	Fields T
	// Raw is the JSON object as it was received, without known fields that are null, except
	// tenant_id; MarshalJSON returns it.
	Raw jsontext.Value
}

// UnmarshalJSON decodes the known fields and stores a copy of data in Raw. A null element of
// an array or map of a known field is an error.
func (r *Record[T]) UnmarshalJSON(data []byte) error {
	data, err := nulls{}.value(reflect.TypeFor[T](), data, "")
	if err != nil {
		return err
	}
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

func (Record[T]) encodedTypes() []reflect.Type { return []reflect.Type{reflect.TypeFor[T]()} }
