// Package model is the language model behind an answer. A model sees a
// conversation and the tools it may call, and streams its next message; it
// never sees the estate's records, which only the tools read.
package model

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"

	"cairn/services/internal/estate"
)

// Model makes the next message of a conversation. It may be used concurrently.
type Model interface {
	// Next yields the parts of the model's next message as they are made: text
	// in pieces, tool calls whole, and at the end the usage. A message without
	// tool calls ends the answer. The sequence ends at the first error; leaving
	// the loop, or ending ctx, stops the model.
	Next(ctx context.Context, c Conversation) iter.Seq2[Part, error]
	// Window is how many tokens a conversation and its answer may have
	// together; 0: nobody says. Errors are those of Next.
	Window(ctx context.Context) (int, error)
	// Check says whether the model can answer now; nil when it can.
	Check(ctx context.Context) error
	// Name is the model's URL, as it was opened.
	Name() string
}

// Conversation is all that a model is told.
type Conversation struct {
	Rules    string // how to answer
	Messages []Message
	Tools    []Tool
	// Estate is what the tools compute on. Only the offline planner looks into
	// it, for the names of columns and values; a language model sees its outline.
	Estate *estate.Estate
	// OutlineBytes bounds what a language model is told of the estate; 0: 8 KiB.
	OutlineBytes int
}

// outlineBytes is about 2,000 tokens.
const outlineBytes = 8 << 10

// System is what a language model is told first: the rules and the outline of
// the estate. The outline reads the whole of it, so it is made when asked for.
func (c Conversation) System() string {
	if c.Estate == nil {
		return c.Rules
	}
	return c.Rules + "\nThe data arrays:\n" + c.Estate.Outline(cmp.Or(c.OutlineBytes, outlineBytes))
}

// Role says who wrote a message.
type Role string

// The roles of a conversation.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// Message is one message of a conversation. An assistant's may hold calls; a
// tool's holds the result of the call it names.
type Message struct {
	Role   Role
	Text   string
	Calls  []Call
	CallID string          // tool messages: which call this answers
	Tool   string          // tool messages: the tool's name
	Result json.RawMessage // tool messages: what it answered
}

// Call is a model's request to run a tool.
type Call struct {
	ID    string
	Name  string
	Input json.RawMessage // a JSON object, as the model wrote it
}

// Tool is what a model is told about a tool.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of the input
}

// Part is a piece of a message: exactly one of its fields is set.
type Part struct {
	Text  string
	Call  *Call
	Usage *Usage
}

// Usage counts what a message cost, in tokens.
type Usage struct {
	PromptTokens int `json:"prompt_tokens"`
	AnswerTokens int `json:"answer_tokens"`
}
