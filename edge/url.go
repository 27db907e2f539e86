package edge

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas"
)

// parameter is a field of a request that is asked in the URL.
type parameter struct {
	name    string
	integer bool
}

type parameters []parameter

// parametersOf are the fields of the struct t, as JSON names them.
func parametersOf(t reflect.Type) parameters {
	var list parameters
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		kind := f.Type
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		list = append(list, parameter{name, kind.Kind() == reflect.Int})
	}
	return list
}

// read is the JSON of the request in the variables of a path, still escaped,
// and a query, or what is wrong with them.
func (p parameters) read(path map[string]string, query string) ([]byte, []schemas.FieldError) {
	given, wrong := gather(path, query)
	body := []byte{'{'}
	for _, param := range p {
		value, ok := given[param.name]
		if !ok {
			continue
		}
		delete(given, param.name)
		if len(body) > 1 {
			body = append(body, ',')
		}
		body = append(strconv.AppendQuote(body, param.name), ':')
		var message string
		if body, message = param.append(body, value); message != "" {
			wrong = append(wrong, schemas.FieldError{Field: param.name, Message: message})
		}
	}
	for name := range given {
		wrong = append(wrong, schemas.FieldError{Field: name, Message: "there is no such parameter"})
	}
	slices.SortFunc(wrong, func(a, b schemas.FieldError) int { return strings.Compare(a.Field, b.Field) })
	return append(body, '}'), wrong
}

// append adds value as JSON, or says what was expected.
func (p parameter) append(body []byte, value string) ([]byte, string) {
	if p.integer {
		n, err := strconv.Atoi(value)
		if err != nil {
			return body, fmt.Sprintf("want an integer, got %q", value)
		}
		return strconv.AppendInt(body, int64(n), 10), ""
	}
	if !utf8.ValidString(value) {
		return body, "must be valid UTF-8"
	}
	body, err := jsontext.AppendQuote(body, value)
	if err != nil {
		return body, err.Error()
	}
	return body, ""
}

// gather is every value of the path and the query by name.
func gather(path map[string]string, query string) (map[string]string, []schemas.FieldError) {
	var wrong []schemas.FieldError
	given := make(map[string]string, len(path))
	for name, escaped := range path {
		value, err := url.PathUnescape(escaped)
		if err != nil {
			wrong = append(wrong, schemas.FieldError{Field: name, Message: err.Error()})
		}
		given[name] = value
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		wrong = append(wrong, schemas.FieldError{Field: "query", Message: err.Error()})
	}
	for name, list := range values {
		if _, twice := given[name]; twice || len(list) > 1 {
			wrong = append(wrong, schemas.FieldError{Field: name, Message: "given more than once"})
		}
		given[name] = list[0]
	}
	return given, wrong
}
