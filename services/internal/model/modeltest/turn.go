// Package modeltest contains the common parts of model tests: the script of a fake server,
// and the conformance suite.
package modeltest

import "cmp"

// Turn is a server's response to one request: the model's reasoning, its text in chunks,
// its calls one by one, and the end.
type Turn struct {
	Thinking string
	Text     []string
	Calls    []Call

	// Status, unless 0, is the status of a response with Error only.
	Status int
	// Error without a status is sent as an event that ends the stream.
	Error string

	End          End
	Reason       string // finish reason; empty: "stop"
	PromptTokens int    // 0: 10
	// Gate, unless nil, is received from before each piece of text, so that the test
	// controls the speed of the model.
	Gate <-chan struct{}
}

// Call is a tool call.
type Call struct {
	ID    string // empty: the server sends none
	Name  string
	Input string // a JSON object
}

// End is the way a turn ends.
type End int

// The ends of a turn.
const (
	Done End = iota // completely
	Stop            // the stream ends without its last part
	Cut             // the connection is reset
	Hang            // no data until the client disconnects
)

// TextTurn returns a turn of text in chunks.
func TextTurn(pieces ...string) Turn { return Turn{Text: pieces} }

// ToolTurn returns a turn that calls a tool with input, a JSON object.
func ToolTurn(tool, input string) Turn {
	return Turn{Calls: []Call{{ID: "call_" + tool, Name: tool, Input: input}}}
}

// Wait returns true when it receives from gate, and false when client or test is closed.
func Wait(gate, client, test <-chan struct{}) bool {
	select {
	case <-gate:
		return true
	case <-client:
	case <-test:
	}
	return false
}

// AnswerTokens returns the reported number of answer tokens.
func (t Turn) AnswerTokens() int { return len(t.Text) + len(t.Calls) + 1 }

// Prompt returns the reported number of prompt tokens.
func (t Turn) Prompt() int { return cmp.Or(t.PromptTokens, 10) }
