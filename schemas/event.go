package schemas

import "github.com/go-json-experiment/json/jsontext"

// The types of events in an analysis.
const (
	EventTextDelta      = "text_delta"
	EventToolUse        = "tool_use"
	EventToolResult     = "tool_result"
	EventDirectResponse = "direct_response"
	EventUsage          = "usage"
	EventProvenance     = "provenance"
	EventError          = "error"
	EventDone           = "done"
)

// TextDelta is a piece of the answer.
type TextDelta struct {
	Text string `json:"text"`
}

// ToolUse says that the model asked for a tool.
type ToolUse struct {
	ToolCallID string         `json:"tool_call_id"`
	Name       string         `json:"name"`
	Input      jsontext.Value `json:"input"`
}

// ToolResult is what the tool answered, as the model is told it.
type ToolResult struct {
	ToolCallID string         `json:"tool_call_id"`
	Result     jsontext.Value `json:"result"`
}

// DirectResponse is the plain answer, when the rendering agent cannot give it.
type DirectResponse struct {
	Text   string `json:"text"`
	Code   string `json:"code"`
	Reason string `json:"reason"`
}

// Usage is what an analysis cost, in tokens over all turns of the model.
type Usage struct {
	PromptTokens int `json:"prompt_tokens"`
	AnswerTokens int `json:"answer_tokens"`
	ToolCalls    int `json:"tool_calls"`
}

// Provenance says of every figure of an answer where it came from.
type Provenance struct {
	Figures []Figure `json:"figures"`
}

// Figure is a number of an answer, in its order. One that came from nowhere is
// flagged.
type Figure struct {
	Text    string   `json:"text" doc:"as in the answer"`
	From    string   `json:"from" doc:"value of a tool result, difference or share of two; question: as it was asked; nowhere"`
	Sources []Source `json:"sources,omitempty" doc:"the value; or what, and of what"`
	Flagged bool     `json:"flagged,omitzero"`
}

// Source is a number in a tool result.
type Source struct {
	ToolCallID string `json:"tool_call_id"`
	Pointer    string `json:"pointer" doc:"JSON Pointer (RFC 6901)"`
}

// Where a figure came from.
const (
	FromValue      = "value"
	FromDifference = "difference"
	FromShare      = "share"
	FromQuestion   = "question"
	FromNowhere    = "nowhere"
)

// StreamError ends a stream that had begun.
type StreamError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Rendering is the finished analysis, handed to the rendering agent.
type Rendering struct {
	Query       string           `json:"query"`
	Mode        string           `json:"mode"`
	Answer      string           `json:"answer"`
	ToolUses    []ToolUse        `json:"tool_uses"`
	ToolResults []jsontext.Value `json:"tool_results"` // of the uses, in their order
	Prompt      *Prompt          `json:"prompt,omitzero"`
	Profile     jsontext.Value   `json:"profile,omitzero"`
}
