package analyze

import (
	"cairn/schemas"
	"cairn/services/internal/estate"
)

// outlineSize bounds what the model is told of the estate, in bytes: about
// 2,000 tokens, so that a small context window has room for the talk.
const outlineSize = 8 << 10

const rules = `You answer questions of infrastructure engineers about their estate.
The estate's records are in data arrays that you cannot read; you have two tools that can.
Every number you give must come from a tool's result in this conversation. Never count, add up or estimate yourself.
If the data does not hold what is asked, say so plainly. If a tool answers with an error, correct the call.
Answer in the language of the question.
`

const standardRules = `Answer first, in one or two sentences with the figures; then, where they help, short recommendations or findings that follow from the figures.
`

const broadRules = `State facts only, in plain prose: no recommendations, no findings, no lists of advice, no headings.
`

// systemPrompt is what the model is told before the conversation.
func systemPrompt(mode string, e *estate.Estate) string {
	manner := standardRules
	if mode == schemas.ModeBroad {
		manner = broadRules
	}
	return rules + manner + "\nThe data arrays:\n" + e.Outline(outlineSize)
}
