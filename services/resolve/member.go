package resolve

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// member is a member of a JSON object with its encoded value.
type member struct{ name, value string }

// complete adds the defaults of members that are absent or null.
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

// scored returns the object with the score as its first member, in place of any
// member of that name.
func scored(object []byte, score jsontext.Value) ([]byte, error) {
	first := []member{{"score", string(score)}}
	if bytes.Contains(object, []byte("score")) || bytes.IndexByte(object, '\\') >= 0 {
		return rebuild(object, first, func(name string) bool { return name != "score" })
	}
	// No member has that name, so the members can be copied.
	rest := bytes.TrimLeft(bytes.TrimSpace(object)[1:], " \t\r\n")
	b := append([]byte(`{"score":`), score...)
	if rest[0] != '}' {
		b = append(b, ',')
	}
	return append(b, rest...), nil
}

// rebuild returns the object with the members first, followed by those to keep.
func rebuild(object []byte, first []member, keep func(name string) bool) ([]byte, error) {
	var b bytes.Buffer
	encoder := jsontext.NewEncoder(&b)
	decoder := jsontext.NewDecoder(bytes.NewReader(object))
	if _, err := decoder.ReadToken(); err != nil {
		return nil, err
	}
	_ = encoder.WriteToken(jsontext.BeginObject) // writing to a buffer does not fail
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
