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

const (
	// maxQuery bounds the query of a request, in bytes. The longest listing has four
	// ids, each character of which takes 12 bytes when escaped, and a cursor of 4 KiB.
	maxQuery = 20 << 10
	// maxParameters bounds the parameters of a query; no route has as many.
	maxParameters = 32
)

// parameter is a field of a request in the URL.
type parameter struct {
	name    string
	integer bool
	boolean bool
}

type parameters []parameter

// parametersOf returns the fields of the struct t under their JSON names.
func parametersOf(t reflect.Type) parameters {
	var list parameters
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		kind := f.Type
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		list = append(list, parameter{name, kind.Kind() == reflect.Int, kind.Kind() == reflect.Bool})
	}
	return list
}

// read returns the JSON request of the path variables, still escaped, and the query,
// with an error for each invalid parameter.
func (p parameters) read(path map[string]string, query string) ([]byte, []schemas.FieldError) {
	if wrong := checkQuery(query); wrong != nil {
		return nil, wrong
	}
	given, wrong := collectParameters(path, query)
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
		wrong = append(wrong, schemas.FieldError{Field: name, Message: "unknown parameter"})
	}
	slices.SortFunc(wrong, func(a, b schemas.FieldError) int { return strings.Compare(a.Field, b.Field) })
	return append(body, '}'), wrong
}

// checkQuery returns an error for a query that is too large to be parsed, which costs
// more per parameter than anything else before a request is admitted.
func checkQuery(query string) []schemas.FieldError {
	if len(query) <= maxQuery && strings.Count(query, "&") < maxParameters {
		return nil
	}
	return []schemas.FieldError{{Field: "query",
		Message: fmt.Sprintf("expected at most %d bytes and %d parameters", maxQuery, maxParameters)}}
}

// append appends value as JSON, or returns a message with the expected type.
func (p parameter) append(body []byte, value string) ([]byte, string) {
	if p.integer {
		n, err := strconv.Atoi(value)
		if err != nil {
			return body, fmt.Sprintf("expected an integer, got %q", value)
		}
		return strconv.AppendInt(body, int64(n), 10), ""
	}
	if p.boolean {
		if value != "true" && value != "false" {
			return body, fmt.Sprintf("expected true or false, got %q", value)
		}
		return append(body, value...), ""
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

// collectParameters returns the values of the path and the query by name.
func collectParameters(path map[string]string, query string) (map[string]string, []schemas.FieldError) {
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
			wrong = append(wrong, schemas.FieldError{Field: name, Message: "given more than once; expected one value"})
		}
		given[name] = list[0]
	}
	return given, wrong
}
