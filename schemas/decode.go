package schemas

import (
	"errors"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// decodeOptions rejects objects with duplicate member names.
var decodeOptions = json.JoinOptions(jsontext.AllowDuplicateNames(false))

// Decode unmarshals body into a T and validates it. Its error is invalid with the
// fields and the values that were expected.
func Decode[T any](body []byte, invalid *Error) (T, error) {
	v, err := Read[T](body, invalid)
	if err != nil {
		return v, err
	}
	return v, Validate(&v, invalid)
}

// Read is Decode without validation.
func Read[T any](body []byte, invalid *Error) (T, error) {
	var v T
	if err := unmarshal(body, &v); err != nil {
		return v, invalid.explain(err)
	}
	return v, nil
}

func unmarshal(body []byte, v any) error {
	if u, ok := v.(interface{ UnmarshalJSON([]byte) error }); ok {
		return u.UnmarshalJSON(body)
	}
	if len(body) == 0 {
		return errors.New("the body is empty; expected a JSON object")
	}
	if NestedDeeper(body, maxNesting) {
		return locateNesting(body)
	}
	return json.Unmarshal(body, v, decodeOptions)
}

// DecodingMessage returns the message for an error of decoding JSON: the field, and the value
// that was expected.
func DecodingMessage(err error) string {
	e := ErrMalformed.explain(err)
	return strings.TrimPrefix(e.Message(), e.Title+": ")
}

// unquoted returns the text of err, an error of the JSON package, without the part of
// the input that it quotes first.
func unquoted(err error) string {
	text := err.Error()
	start := strings.IndexAny(text, "'\"`")
	if start < 0 {
		return text
	}
	quoted, err := strconv.QuotedPrefix(text[start:])
	if err != nil {
		return strings.TrimSpace(text[:start])
	}
	return text[:start] + strings.TrimPrefix(text[start+len(quoted):], " ")
}

// fieldOf converts a JSON pointer to a dotted path such as record.capabilities[2].
func fieldOf(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		switch {
		case token != "" && strings.Trim(token, "0123456789") == "":
			b.WriteString("[" + token + "]")
		case b.Len() > 0:
			b.WriteString("." + token)
		default:
			b.WriteString(token)
		}
	}
	if b.Len() == 0 {
		return "body"
	}
	return b.String()
}

func expectedType(t reflect.Type) string {
	if t == nil {
		return "another type"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return expectedType(t.Elem())
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	default:
		return "an integer"
	}
}

func kindName(k jsontext.Kind) string {
	switch k {
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	default:
		return "an unknown value"
	}
}
