package analyze

import (
	"embed"
	"slices"

	"cairn/schemas"
	"cairn/services/internal/estate"
	"cairn/services/internal/model"
)

// prompts are what a model is told of answering, a file a mode.
//
//go:embed prompts
var prompts embed.FS

const (
	// assumedWindow is that of a model of which nobody says it, in tokens.
	assumedWindow = 32 << 10
	// tokenBytes is how long a token is taken to be. JSON has shorter ones than
	// English, which has some 4 bytes a token.
	tokenBytes = 3
	// mostOutline bounds what a model is told of the estate, in bytes, so that
	// it is read soon.
	mostOutline = 8 << 10
)

// leftOut stands for what of the history does not fit.
const leftOut = "(Earlier messages are left out.)"

// budget is what a conversation may take, in bytes.
type budget struct {
	outline int
	prompt  int // at first; the rest of the window is for results and answers
	all     int // with the results
}

func newBudget(window int) budget {
	if window == 0 {
		window = assumedWindow
	}
	bytes := window * tokenBytes
	return budget{outline: min(mostOutline, bytes/8), prompt: bytes / 2, all: bytes * 3 / 4}
}

// conversation is what the model is told: the rules of the mode, the estate,
// as much as fits of what was said so far, and the question.
func conversation(ask schemas.Analysis, e *estate.Estate, b budget) model.Conversation {
	rules, err := prompts.ReadFile("prompts/" + ask.Mode + ".md")
	if err != nil {
		panic(err) // compiled in, for each mode there is
	}
	talk := model.Conversation{Rules: string(rules), Tools: offered, Estate: e, OutlineBytes: b.outline}
	taken := len(rules) + b.outline + toolBytes + len(ask.Query)
	talk.Messages = append(newest(ask.History(), b.prompt-taken), model.Message{Role: model.User, Text: ask.Query})
	return talk
}

// newest is the last messages of the history, as many as fit whole, after a
// mark where others are left out.
func newest(history []schemas.Utterance, room int) []model.Message {
	var kept []model.Message
	for _, said := range slices.Backward(history) {
		room -= len(said.C)
		if room < 0 {
			kept = append(kept, model.Message{Role: model.User, Text: leftOut})
			break
		}
		role := model.User
		if said.R == 1 {
			role = model.Assistant
		}
		kept = append(kept, model.Message{Role: role, Text: said.C})
	}
	slices.Reverse(kept)
	return kept
}

// size is how many bytes the messages take of a model's window.
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
