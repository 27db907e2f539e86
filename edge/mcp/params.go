package mcp

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"cairn/schemas"
)

// paramsOf are the types of the parameters of the methods that a client may send. The SDK
// decodes them too, but its errors contain names of Go types.
var paramsOf = map[string]reflect.Type{
	"initialize":                       reflect.TypeFor[sdk.InitializeParams](),
	"server/discover":                  reflect.TypeFor[sdk.DiscoverParams](),
	"ping":                             reflect.TypeFor[sdk.PingParams](),
	"completion/complete":              reflect.TypeFor[sdk.CompleteParams](),
	"logging/setLevel":                 reflect.TypeFor[sdk.SetLoggingLevelParams](), //nolint:staticcheck // clients may send it
	"prompts/get":                      reflect.TypeFor[sdk.GetPromptParams](),
	"prompts/list":                     reflect.TypeFor[sdk.ListPromptsParams](),
	"resources/list":                   reflect.TypeFor[sdk.ListResourcesParams](),
	"resources/read":                   reflect.TypeFor[sdk.ReadResourceParams](),
	"resources/subscribe":              reflect.TypeFor[sdk.SubscribeParams](),
	"resources/templates/list":         reflect.TypeFor[sdk.ListResourceTemplatesParams](),
	"resources/unsubscribe":            reflect.TypeFor[sdk.UnsubscribeParams](),
	"subscriptions/listen":             reflect.TypeFor[sdk.SubscriptionsListenParams](),
	callMethod:                         reflect.TypeFor[sdk.CallToolParamsRaw](),
	"tools/list":                       reflect.TypeFor[sdk.ListToolsParams](),
	"skills/list":                      reflect.TypeFor[listSkillsParams](),
	"skills/get":                       reflect.TypeFor[getSkillParams](),
	"notifications/cancelled":          reflect.TypeFor[sdk.CancelledParams](),
	"notifications/initialized":        reflect.TypeFor[sdk.InitializedParams](),
	"notifications/progress":           reflect.TypeFor[sdk.ProgressNotificationParams](),
	"notifications/roots/list_changed": reflect.TypeFor[sdk.RootsListChangedParams](), //nolint:staticcheck // clients may send it
}

// MaxParams bounds a message in bytes, except for the arguments of a tool: the SDK decodes parameters into maps.
const MaxParams = 64 << 10

// Message is a message of a client. Its parameters lack the arguments of a tool, which the SDK would parse
// eight times and copy.
type Message struct {
	schemas.RPCRequest
	arguments jsontext.Value // a part of the body; nil: none
}

// Decode returns the message of a body. It returns ErrMalformed for a malformed one, and before it decodes
// anything, for one that is too large.
func Decode(body []byte) (m Message, err error) {
	params, err := split(body)
	if err != nil {
		return m, err
	}
	if m.RPCRequest, err = schemas.Decode[schemas.RPCRequest](body, schemas.ErrMalformed); err != nil {
		return m, err
	}
	if m.Method == callMethod && params[argumentsName] != nil {
		m.arguments = params[argumentsName]
		delete(params, argumentsName)
		m.Params, err = json.Marshal(params)
	}
	return m, err
}

const (
	callMethod    = "tools/call"
	argumentsName = "arguments"
)

// split returns the parameters of the message, which are parts of body, or ErrMalformed with the field at
// which it exceeds MaxParams.
func split(body []byte) (map[string]jsontext.Value, error) {
	size := 0
	exceeds := func(field string, value jsontext.Value) error {
		if size += len(field) + len(value); size <= MaxParams {
			return nil
		}
		return schemas.ErrMalformed.With(schemas.FieldError{
			Field: field, Message: fmt.Sprintf("expected a message of at most %d bytes besides the arguments of a tool",
				MaxParams),
		})
	}
	var method, params jsontext.Value
	for name, value := range membersOf(body) {
		switch name {
		case "params":
			params = value
			continue
		case "method":
			method = value
		}
		if err := exceeds(name, value); err != nil {
			return nil, err
		}
	}
	parts := map[string]jsontext.Value{}
	for name, value := range membersOf(params) {
		parts[name] = value
		if name == argumentsName && string(method) == `"`+callMethod+`"` {
			continue
		}
		if err := exceeds("params."+name, value); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// checkParams returns ErrMalformed for parameters that do not match the method.
func checkParams(m schemas.RPCRequest) error {
	expected := paramsOf[m.Method]
	if expected == nil || m.Params == nil {
		return nil
	}
	if err := json.Unmarshal(m.Params, reflect.New(expected).Interface()); err != nil {
		return schemas.ErrMalformed.Because("params: " + schemas.DecodingMessage(err))
	}
	return nil
}

// membersOf yields the members of a JSON object; none if it is not an object. The values are parts of
// object: they are not decoded, so that large ones need no memory.
func membersOf(object []byte) iter.Seq2[string, jsontext.Value] {
	return func(yield func(string, jsontext.Value) bool) {
		d := jsontext.NewDecoder(bytes.NewBuffer(object), jsontext.AllowDuplicateNames(true))
		if start, err := d.ReadToken(); err != nil || start.Kind() != jsontext.KindBeginObject {
			return
		}
		for d.PeekKind() == jsontext.KindString {
			token, err := d.ReadToken()
			if err != nil {
				return
			}
			name := token.String()
			value, err := d.ReadValue()
			if end := d.InputOffset(); err != nil || !yield(name, object[end-int64(len(value)):end:end]) {
				return
			}
		}
	}
}

// writeError answers the message with the error: a request with a JSON-RPC error, a notification
// with the error itself.
func writeError(w http.ResponseWriter, m schemas.RPCRequest, c Caller, err error) error {
	var wire *jsonrpc.Error
	if m.ID == nil || !errors.As(protocolError(c, err), &wire) {
		return err
	}
	text, err := json.Marshal(wire)
	if err != nil {
		return err
	}
	body, err := json.Marshal(schemas.RPCResponse{JSONRPC: "2.0", ID: m.ID, Error: text})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, err = w.Write(body)
	return err
}
