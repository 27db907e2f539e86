// Package member edits the members of JSON objects. Other members keep their order
// and their text, apart from white space. An object is a valid JSON object, such as
// a record of the catalog; the result for any other text is undefined.
package member

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Member is a member of a JSON object.
type Member struct {
	Name  string
	Value any // encoded as by json.Marshal
}

// Append returns the object with m as its last member, in place of any of that name.
func Append(object []byte, m Member) ([]byte, error) {
	return rewrite(object, nil, []Member{m}, nil)
}

// Prepend returns the object with m as its first member, in place of any of that
// name.
func Prepend(object []byte, m Member) ([]byte, error) {
	if bytes.Contains(object, []byte(m.Name)) || bytes.IndexByte(object, '\\') >= 0 {
		return rewrite(object, []Member{m}, nil, nil)
	}
	// No member has that name, so the members can be copied.
	value, err := json.Marshal(m.Value)
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, len(m.Name)+len(value)+len(object)+len(`{"":,`))
	b, err = jsontext.AppendQuote(append(b, '{'), m.Name)
	b = append(append(b, ':'), value...)
	rest := bytes.TrimLeft(bytes.TrimSpace(object)[1:], " \t\r\n")
	if rest[0] != '}' {
		b = append(b, ',')
	}
	return append(b, rest...), err
}

// Default returns the object with the given members prepended, except those that it has with a value
// other than null.
func Default(object []byte, members ...Member) ([]byte, error) {
	var existing map[string]jsontext.Value
	if err := json.Unmarshal(object, &existing); err != nil {
		return nil, err
	}
	var missing []Member
	for _, m := range members {
		if value, ok := existing[m.Name]; !ok || value.Kind() == jsontext.KindNull {
			missing = append(missing, m)
		}
	}
	if len(missing) == 0 {
		return object, nil
	}
	return rewrite(object, missing, nil, nil)
}

// Without returns the object without the members of the names.
func Without(object []byte, names ...string) ([]byte, error) {
	return rewrite(object, nil, nil, names)
}

// Span returns the offsets of the member in the object, with the comma that separates it from the others: the
// object without that text has the other members. They are 0 if the object has no such member.
func Span(object []byte, name string) (start, end int, err error) {
	decoder := jsontext.NewDecoder(bytes.NewReader(object))
	if _, err := decoder.ReadToken(); err != nil {
		return 0, 0, err
	}
	for first := true; decoder.PeekKind() != jsontext.KindEndObject; first = false {
		start := decoder.InputOffset()
		key, err := decoder.ReadToken()
		if err != nil {
			return 0, 0, err
		}
		matches := key.String() == name
		if err := decoder.SkipValue(); err != nil {
			return 0, 0, err
		}
		if matches {
			end := decoder.InputOffset()
			if first && decoder.PeekKind() != jsontext.KindEndObject {
				end += int64(bytes.IndexByte(object[end:], ',')) + 1
			}
			return int(start), int(end), nil
		}
	}
	return 0, 0, nil
}

// rewrite returns the object with the members first and last, in place of any of their names, and without the
// members of the names to remove.
func rewrite(object []byte, first, last []Member, remove []string) ([]byte, error) {
	var b bytes.Buffer
	encoder := jsontext.NewEncoder(&b, jsontext.PreserveRawStrings(true))
	decoder := jsontext.NewDecoder(bytes.NewReader(object))
	if _, err := decoder.ReadToken(); err != nil {
		return nil, err
	}
	_ = encoder.WriteToken(jsontext.BeginObject) // writing to a buffer does not fail
	if err := write(encoder, first); err != nil {
		return nil, err
	}
	replaced := map[string]bool{}
	for _, m := range slices.Concat(first, last) {
		replaced[m.Name] = true
	}
	for _, name := range remove {
		replaced[name] = true
	}
	for decoder.PeekKind() != jsontext.KindEndObject {
		name, err := decoder.ReadToken()
		if err != nil {
			return nil, err
		}
		keep := !replaced[name.String()]
		if keep {
			_ = encoder.WriteToken(name)
		}
		value, err := decoder.ReadValue()
		if err != nil {
			return nil, err
		}
		if keep {
			_ = encoder.WriteValue(value)
		}
	}
	if err := write(encoder, last); err != nil {
		return nil, err
	}
	_ = encoder.WriteToken(jsontext.EndObject)
	return bytes.TrimSpace(b.Bytes()), nil
}

func write(encoder *jsontext.Encoder, members []Member) error {
	for _, m := range members {
		_ = encoder.WriteToken(jsontext.String(m.Name))
		if err := json.MarshalEncode(encoder, m.Value); err != nil {
			return err
		}
	}
	return nil
}
