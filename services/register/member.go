package register

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// with returns the JSON object with the member set to value. Other members are
// unchanged and keep their order.
func with(object []byte, name string, value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := jsontext.NewEncoder(&b, jsontext.PreserveRawStrings(true))
	decoder := jsontext.NewDecoder(bytes.NewReader(object))
	if _, err := decoder.ReadToken(); err != nil {
		return nil, fmt.Errorf("set %q of a record: %w", name, err)
	}
	_ = encoder.WriteToken(jsontext.BeginObject) // writing to a buffer does not fail
	for decoder.PeekKind() != jsontext.KindEndObject {
		key, err := decoder.ReadToken()
		if err != nil {
			return nil, fmt.Errorf("set %q of a record: %w", name, err)
		}
		key = key.Clone()
		member, err := decoder.ReadValue()
		if err != nil {
			return nil, fmt.Errorf("set %q of a record: %w", name, err)
		}
		if key.String() != name {
			_ = encoder.WriteToken(key)
			_ = encoder.WriteValue(member)
		}
	}
	_ = encoder.WriteToken(jsontext.String(name))
	if err := json.MarshalEncode(encoder, value); err != nil {
		return nil, fmt.Errorf("set %q of a record: %w", name, err)
	}
	_ = encoder.WriteToken(jsontext.EndObject)
	return bytes.TrimSpace(b.Bytes()), nil
}
