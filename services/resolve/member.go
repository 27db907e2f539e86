package resolve

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// member is a member of a JSON object, its value as JSON.
type member struct{ name, value string }

// complete is the object with those members added that it does not have; one
// that is null counts as absent.
func complete(object []byte, defaults []member) ([]byte, error) {
	var has map[string]jsontext.Value
	if err := json.Unmarshal(object, &has); err != nil {
		return nil, err
	}
	var missing []member
	null := map[string]bool{}
	for _, d := range defaults {
		if value, ok := has[d.name]; !ok || value.Kind() == jsontext.KindNull {
			missing = append(missing, d)
			null[d.name] = ok
		}
	}
	if len(missing) == 0 {
		return object, nil
	}
	return rebuild(object, missing, func(name string) bool { return !null[name] })
}

// scored is the object with the score as its first member, whatever it has
// under that name itself.
func scored(object []byte, score jsontext.Value) ([]byte, error) {
	first := []member{{"score", string(score)}}
	if bytes.Contains(object, []byte("score")) || bytes.IndexByte(object, '\\') >= 0 {
		return rebuild(object, first, func(name string) bool { return name != "score" })
	}
	// Nothing in the object can be that name: its members follow as they are.
	rest := bytes.TrimLeft(bytes.TrimSpace(object)[1:], " \t\r\n")
	b := append([]byte(`{"score":`), score...)
	if rest[0] != '}' {
		b = append(b, ',')
	}
	return append(b, rest...), nil
}

// rebuild is the object with its members that are to be kept behind the first.
func rebuild(object []byte, first []member, keep func(name string) bool) ([]byte, error) {
	var b bytes.Buffer
	encoder := jsontext.NewEncoder(&b)
	decoder := jsontext.NewDecoder(bytes.NewReader(object))
	if _, err := decoder.ReadToken(); err != nil {
		return nil, err
	}
	_ = encoder.WriteToken(jsontext.BeginObject) // a buffer takes everything
	for _, m := range first {
		_ = encoder.WriteToken(jsontext.String(m.name))
		_ = encoder.WriteValue(jsontext.Value(m.value))
	}
	for decoder.PeekKind() != jsontext.KindEndObject {
		token, err := decoder.ReadToken()
		if err != nil {
			return nil, err
		}
		name := token.String()
		value, err := decoder.ReadValue()
		if err != nil {
			return nil, err
		}
		if keep(name) {
			_ = encoder.WriteToken(jsontext.String(name))
			_ = encoder.WriteValue(value)
		}
	}
	_ = encoder.WriteToken(jsontext.EndObject)
	return bytes.TrimSpace(b.Bytes()), nil
}
