// Package model defines the language model behind an answer. A model receives a
// conversation and the tools it may call, and streams its next message. It never
// receives the estate's records; only the tools read them.
package model

import (
	"context"
	"encoding/json"
	"iter"

	"cairn/services/internal/model/plan"
)

// Model generates the next message of a conversation. It is safe for concurrent use.
type Model interface {
	// Next yields the parts of the model's next message as they are generated: text
	// in chunks, complete tool calls, and finally the usage. A message without tool
	// calls is the answer. The sequence ends at the first error. Breaking out of the
	// loop, or canceling ctx, stops the model.
	Next(ctx context.Context, c Conversation) iter.Seq2[Part, error]
	// Profile returns what a caller must know about the model. Its errors are those of Next.
	Profile(ctx context.Context) (Profile, error)
	// Check returns nil if the model can serve requests.
	Check(ctx context.Context) error
	// Name returns the model's URL as opened.
	Name() string
}

// Profile describes how a model is used.
type Profile struct {
	// Window is the size of the context window, shared by conversation and answer, in
	// tokens; 0: unknown.
	Window  int
	Plan    Planning
	Answers Answers
}

// Planning is how a model requests computations.
type Planning string

// The ways of planning.
const (
	PlanSchema Planning = "schema" // a message that a JSON Schema constrains
	PlanTools  Planning = "tools"  // free tool calls
)

// Answers is where the text of an answer comes from.
type Answers string

// The sources of answers.
const (
	AnswersStated    Answers = "stated"    // statements about the results, without the model
	AnswersWritten   Answers = "written"   // sentences of the model whose figures the results support
	AnswersForwarded Answers = "forwarded" // the text of the model, as it comes
)

// Conversation is the input of a model.
type Conversation struct {
	Rules    string // the system prompt
	Messages []Message
	Tools    []Tool
	// Schema is the JSON Schema of the next message, whose root is an object; nil: the
	// message is free. The message is then text that is one JSON value, unless the
	// server ignores the schema. Tools are not offered with a schema.
	Schema json.RawMessage
	// MaxTokens bounds the next message, in tokens; 0: the server's limit. A message that
	// reaches it is an IncompleteError.
	MaxTokens int
	// Question is the question of a plan, linked to the estate. Only the offline planner uses it.
	Question *plan.Question
}

// Role is the author of a message.
type Role string

// The roles of a conversation.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// Message is one message of a conversation. An assistant message may have calls; a
// tool message has the result of one call.
type Message struct {
	Role   Role
	Text   string
	Calls  []Call
	CallID string          // tool messages: the id of the call
	Tool   string          // tool messages: the tool's name
	Result json.RawMessage // tool messages: the result
}

// Call is a model's request to run a tool.
type Call struct {
	ID    string // empty: the server sent none
	Name  string
	Input json.RawMessage // a JSON object, as the model wrote it
}

// Tool describes a tool to the model.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of the input
}

// Part is a piece of a message: exactly one field is set.
type Part struct {
	Text  string
	Call  *Call
	Usage *Usage
}

// Usage is the number of tokens of a message.
type Usage struct {
	PromptTokens int `json:"prompt_tokens"`
	AnswerTokens int `json:"answer_tokens"`
}
