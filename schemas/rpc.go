package schemas

import (
	"regexp"

	"github.com/go-json-experiment/json/jsontext"
)

// RPCRequest is a message of a client of the Model Context Protocol: a request of JSON-RPC
// 2.0, or a notification when it has no id.
type RPCRequest struct {
	JSONRPC string         `json:"jsonrpc" doc:"2.0"`
	ID      jsontext.Value `json:"id,omitzero" doc:"a string or an integer; absent in a notification"`
	Method  string         `json:"method" doc:"such as tools/list or tools/call"`
	Params  jsontext.Value `json:"params,omitzero" doc:"an object"`
}

// The protocol's handler checks the method and its parameters.
func (r *RPCRequest) validate(c *check) {
	if r.ID != nil && r.ID.Kind() != '"' && !integerText.Match(r.ID) {
		c.fail("id", "expected a string or an integer, or no id in a notification")
	}
}

// integerText matches an integer that is exact in JavaScript.
var integerText = regexp.MustCompile(`^-?[0-9]{1,15}$`)

// RPCResponse is the answer to an RPCRequest. The Model Context Protocol sends it as the
// data of the last server-sent event of the response, or as JSON.
type RPCResponse struct {
	JSONRPC string         `json:"jsonrpc" doc:"2.0"`
	ID      jsontext.Value `json:"id" doc:"that of the request"`
	Result  jsontext.Value `json:"result,omitzero"`
	Error   jsontext.Value `json:"error,omitzero" doc:"code, message, and as data the error body of the HTTP interface"`
}
