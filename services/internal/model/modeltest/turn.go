// Package modeltest is what the tests of models share: the script that a
// pretended server plays, and the suite that every model passes.
package modeltest

// Turn is what a server does with one request: it sends what the model thinks,
// its text piece by piece and its calls one by one, and then ends.
type Turn struct {
	Thinking string
	Text     []string
	Calls    []Call

	// Status, unless 0, is answered with Error instead of all that.
	Status int
	// Error alone is sent as the last thing of a stream that breaks off.
	Error string

	End          End
	Reason       string // why the model ended; empty: "stop"
	PromptTokens int    // 0: 10
	// Gate, unless nil, is received from before each piece of text: the test
	// decides how slow the model is.
	Gate <-chan struct{}
}

// Call is a tool call of a model.
type Call struct {
	ID    string // empty: the server gives none
	Name  string
	Input string // a JSON object
}

// End is how a turn ends.
type End int

// The ends of a turn.
const (
	Done End = iota // completely
	Stop            // the stream ends in order, but without what marks its end
	Cut             // the connection is cut
	Hang            // silence, until the client leaves
)

// Say is a model that answers with text, in pieces.
func Say(pieces ...string) Turn { return Turn{Text: pieces} }

// Use is a model that calls a tool with input, a JSON object.
func Use(tool, input string) Turn {
	return Turn{Calls: []Call{{ID: "call_" + tool, Name: tool, Input: input}}}
}

// Wait returns true when it has received from gate, false when the client or
// the test is over.
func Wait(gate, client, test <-chan struct{}) bool {
	select {
	case <-gate:
		return true
	case <-client:
	case <-test:
	}
	return false
}

// AnswerTokens is what a turn is said to cost beside its prompt.
func (t Turn) AnswerTokens() int { return len(t.Text) + len(t.Calls) + 1 }

// Prompt is what the prompt of a turn is said to cost, in tokens.
func (t Turn) Prompt() int {
	if t.PromptTokens == 0 {
		return 10
	}
	return t.PromptTokens
}
