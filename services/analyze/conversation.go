package analyze

import (
	"embed"
	"slices"

	"cairn/schemas"
	"cairn/services/internal/estate"
	"cairn/services/internal/model"
	"cairn/services/internal/model/plan"
)

// prompts holds the system prompt of each mode.
//
//go:embed prompts
var prompts embed.FS

const (
	// assumedWindow is the window of a model that reports none, in tokens.
	assumedWindow = 32 << 10
	// tokenBytes is the assumed length of a token. English has about 4 bytes a
	// token, JSON fewer.
	tokenBytes = 3
	// maxOutline bounds the outline of the estate in the prompt, in bytes, which
	// bounds the time to the first token.
	maxOutline = 8 << 10
)

// omittedNotice replaces the part of the history that does not fit.
const omittedNotice = "(Earlier messages are left out.)"

// budget bounds the parts of a conversation, in bytes.
type budget struct {
	outline int
	prompt  int // the first request; the rest of the window is for results and answers
	total   int // including results
}

func newBudget(window int) budget {
	if window == 0 {
		window = assumedWindow
	}
	bytes := window * tokenBytes
	return budget{outline: min(maxOutline, bytes/8), prompt: bytes / 2, total: bytes * 3 / 4}
}

// conversation returns the first request to the model: the prompt of the mode, the outline of the estate, the newest
// part of the history that fits, and the question, which is q.
func conversation(req schemas.Analysis, e *estate.Estate, q *plan.Question, b budget) model.Conversation {
	rules, err := prompts.ReadFile("prompts/" + req.Mode + ".md")
	if err != nil {
		panic(err) // embedded for every valid mode
	}
	outline := plan.Outline(q, b.outline)
	if len(e.Keys()) == 0 {
		outline = "The data has no arrays: " + e.Contents().Note + ".\n"
	}
	c := model.Conversation{Rules: string(rules) + "\n" + outline, Tools: offered}
	fixed := len(c.Rules) + toolBytes + len(req.Query)
	c.Messages = append(newest(req.History(), b.prompt-fixed), model.Message{Role: model.User, Text: req.Query})
	return c
}

// newest returns the last messages of the history that fit whole into limit bytes,
// preceded by omittedNotice when some do not.
func newest(history []schemas.Utterance, limit int) []model.Message {
	var kept []model.Message
	for _, u := range slices.Backward(history) {
		limit -= len(u.C)
		if limit < 0 {
			kept = append(kept, model.Message{Role: model.User, Text: omittedNotice})
			break
		}
		role := model.User
		if u.R == 1 {
			role = model.Assistant
		}
		kept = append(kept, model.Message{Role: role, Text: u.C})
	}
	slices.Reverse(kept)
	return kept
}

// size returns the bytes that messages take of a model's window.
func size(messages []model.Message) int {
	n := 0
	for _, m := range messages {
		n += len(m.Text) + len(m.Result)
		for _, c := range m.Calls {
			n += len(c.Name) + len(c.Input)
		}
	}
	return n
}
