package mcp

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas"
)

// goName matches what errors of Go's packages contain.
var goName = regexp.MustCompile(
	`Go value|Go struct|json: |map\[|\]interface|strconv\.|mcp\.[A-Za-z]|jsonrpc2|unmarshal`)

// unavailable is a caller without workers.
type unavailable struct{ *stub }

func (unavailable) Send(Forward, []byte) ([]byte, error) { return nil, schemas.ErrUnavailable }

// members returns values of the JSON type t, each with one member of another type, down to a depth.
func members(t reflect.Type, depth int) []string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	wrong := []string{`5`, `"x"`, `[1]`, `[[]]`, `true`, `null`, `{"a":{"b":[{}]}}`, `1e999`}
	if t.Kind() != reflect.Struct || depth == 0 {
		return wrong
	}
	list := wrong
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		for _, value := range members(f.Type, depth-1) {
			list = append(list, fmt.Sprintf("{%q:%s}", name, value))
		}
	}
	return list
}

// TestParamsWithoutGoNames sends every parameter of every method with values of other types.
func TestParamsWithoutGoNames(t *testing.T) {
	t.Parallel()
	h, err := New(1 << 20)
	must(t, err)
	rejected := 0
	for method, expected := range paramsOf {
		for _, params := range members(expected, 3) {
			m := schemas.RPCRequest{JSONRPC: "2.0", ID: jsontext.Value("1"), Method: method, Params: jsontext.Value(params)}
			if strings.HasPrefix(method, "notifications/") {
				m.ID = nil
			}
			text, err := answer(h, Message{RPCRequest: m}, unavailable{new(stub)})
			if err != nil {
				text += err.Error()
			}
			if strings.Contains(text, "expected ") {
				rejected++
			}
			if name := goName.FindString(text); name != "" {
				t.Errorf("%s %s: %q in %s", method, params, name, text)
			}
		}
	}
	if rejected < 100 {
		t.Errorf("%d messages were rejected with the expected error", rejected)
	}
}
