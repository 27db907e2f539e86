package mcp

import (
	"errors"
	"net/http"
	"reflect"

	"github.com/go-json-experiment/json"
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
	"tools/call":                       reflect.TypeFor[sdk.CallToolParamsRaw](),
	"tools/list":                       reflect.TypeFor[sdk.ListToolsParams](),
	"skills/list":                      reflect.TypeFor[listSkillsParams](),
	"skills/get":                       reflect.TypeFor[getSkillParams](),
	"notifications/cancelled":          reflect.TypeFor[sdk.CancelledParams](),
	"notifications/initialized":        reflect.TypeFor[sdk.InitializedParams](),
	"notifications/progress":           reflect.TypeFor[sdk.ProgressNotificationParams](),
	"notifications/roots/list_changed": reflect.TypeFor[sdk.RootsListChangedParams](), //nolint:staticcheck // clients may send it
}

// checkParams returns ErrMalformed for parameters that do not match the method.
func checkParams(m schemas.RPCRequest) error {
	of := paramsOf[m.Method]
	if of == nil || m.Params == nil {
		return nil
	}
	if err := json.Unmarshal(m.Params, reflect.New(of).Interface()); err != nil {
		return schemas.ErrMalformed.Because("params: " + schemas.DecodingMessage(err))
	}
	return nil
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
