package schemas

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// Event types of an analysis.
const (
	EventTextDelta      = "text_delta"
	EventToolUse        = "tool_use"
	EventToolResult     = "tool_result"
	EventDirectResponse = "direct_response"
	EventSuggestions    = "suggestions"
	EventUsage          = "usage"
	EventProvenance     = "provenance"
	EventError          = "error"
	EventDone           = "done"
)

// TextDelta is a piece of the answer.
type TextDelta struct {
	Text string `json:"text" doc:"Markdown (CommonMark with GFM tables); Cairn escapes values of the estate in it. The text of a language model is untrusted: clients must sanitize the HTML that they render. Plain text with the profile's format plain and the rendering agent"`
}

// ToolUse is a tool call of the model.
type ToolUse struct {
	ToolCallID string         `json:"tool_call_id"`
	Name       string         `json:"name"`
	Input      jsontext.Value `json:"input"`
}

// ToolResult is the result of a tool call, as the model receives it.
type ToolResult struct {
	ToolCallID string         `json:"tool_call_id"`
	Result     jsontext.Value `json:"result"`
}

// DirectResponse is the unrendered answer, sent when the rendering agent fails.
type DirectResponse struct {
	Text   string `json:"text" doc:"Markdown, as in TextDelta"`
	Code   string `json:"code"`
	Reason string `json:"reason"`
}

// Suggestions are questions that the model can answer in exactly these words. The event follows an
// answer that declines the question, if there are any.
type Suggestions struct {
	Questions []string `json:"questions" doc:"plain text, at most three; the answer lists them too"`
}

// Usage counts the tokens and tool calls of an analysis over all turns of the model.
type Usage struct {
	PromptTokens int `json:"prompt_tokens"`
	AnswerTokens int `json:"answer_tokens"`
	ToolCalls    int `json:"tool_calls"`
}

// Provenance lists the source of every figure of an answer.
type Provenance struct {
	Figures []Figure `json:"figures"`
}

// Figure is a number in an answer. Figures are listed in the order of the answer;
// one without a source is flagged.
type Figure struct {
	Text    string   `json:"text" doc:"the number as written in the answer"`
	From    string   `json:"from" doc:"value (of a tool result), difference or share (of two values), question (a number of the query), or nowhere (no source found)"`
	Sources []Source `json:"sources,omitempty" doc:"the value; for a difference or share, both operands in order"`
	Flagged bool     `json:"flagged,omitzero"`
}

// Source is a number in a tool result.
type Source struct {
	ToolCallID string `json:"tool_call_id"`
	Pointer    string `json:"pointer" doc:"JSON Pointer (RFC 6901)"`
}

// Values of Figure.From.
const (
	FromValue      = "value"
	FromDifference = "difference"
	FromShare      = "share"
	FromQuestion   = "question"
	FromNowhere    = "nowhere"
)

// StreamError ends a stream that has already sent events.
type StreamError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Err returns the error, an *Error with the status of the code if the code is known.
func (s StreamError) Err() error {
	if e := Declared(s.Code); e != nil {
		named := *e
		named.Title = s.Message
		return &named
	}
	return errors.New(s.Code + " " + s.Message)
}

// Rendering is the request to the rendering agent: a finished analysis.
type Rendering struct {
	Query       string           `json:"query"`
	Mode        string           `json:"mode"`
	Answer      string           `json:"answer"`
	ToolUses    []ToolUse        `json:"tool_uses"`
	ToolResults []jsontext.Value `json:"tool_results"` // in the order of ToolUses
	Prompt      *Prompt          `json:"prompt,omitzero"`
	Profile     jsontext.Value   `json:"profile,omitzero"`
}

// Validate accepts every rendering: a model may have sent an input that is not an object.
func (*Rendering) Validate() error { return nil }
