package schemas

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Analysis is a question about an estate.
type Analysis struct {
	Query     string         `json:"query" doc:"the question; defaults to the last user message of prompt.m, with the same limit"`
	Context   string         `json:"context" doc:"JSON text of the estate as a string; also the estate itself, an object or array"`
	Target    string         `json:"target" doc:"H; the legacy value br selects H in broad mode"`
	Mode      string         `json:"mode,omitzero" doc:"standard (default) or broad"`
	Prompt    *Prompt        `json:"prompt,omitzero" doc:"the conversation so far"`
	Profile   jsontext.Value `json:"profile,omitzero" doc:"passed to the rendering agent unchanged; at most 64 KiB of JSON"`
	ID        string         `json:"id,omitzero" doc:"for log correlation"`
	RequestID string         `json:"request_id,omitzero" doc:"for log correlation"`
	Include   []string       `json:"include,omitempty" doc:"optional events to send before done: usage, provenance, suggestions"`
	// Calls are tool calls to run in place of a model.
	Calls []ToolCall `json:"calls,omitempty" doc:"tool calls to run without a model: the events are their tool_use and tool_result, and query is optional"`
	// OnDisconnect selects what happens to the run after its client disconnects.
	OnDisconnect string `json:"on_disconnect,omitzero" doc:"after the client disconnects: cancel the run after the grace period (default), or continue it"`
}

// Prompt is a conversation history. It is also decoded from an array of ChatMessage.
type Prompt struct {
	M map[string]Utterance `json:"m" doc:"messages by index, a decimal string; at most 256 KiB of text in total"`
	T string               `json:"t,omitzero" doc:"start of the conversation, ISO 8601"`
}

// Utterance is one message of a history.
type Utterance struct {
	R int    `json:"r" doc:"0 user, 1 assistant"`
	C string `json:"c" doc:"text"`
}

// ChatMessage is a message of a history in the form of chat APIs.
type ChatMessage struct {
	Role    string `json:"role" doc:"user or assistant"`
	Content string `json:"content" doc:"text"`
}

// chatRoles are the roles of chat APIs that a history has, by their numbers.
var chatRoles = []string{"user", "assistant"}

// UnmarshalJSONFrom decodes both forms of a history.
func (p *Prompt) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != jsontext.KindBeginArray {
		type plain Prompt
		return json.UnmarshalDecode(d, (*plain)(p))
	}
	var list []ChatMessage
	if err := json.UnmarshalDecode(d, &list); err != nil {
		return err
	}
	*p = Prompt{M: map[string]Utterance{}}
	var c check
	for i, m := range list {
		role := slices.Index(chatRoles, m.Role)
		if role < 0 {
			c.fail(fmt.Sprintf("prompt[%d].role", i), "expected user or assistant, got %.100q", m.Role)
		}
		p.M[strconv.Itoa(i)] = Utterance{R: role, C: m.Content}
	}
	return c.as(ErrAnalysisMalformed)
}

// Modes and targets of an analysis.
const (
	ModeStandard = "standard"
	ModeBroad    = "broad"
	TargetH      = "H"
	TargetLegacy = "br"
)

// Values of Analysis.OnDisconnect.
const (
	OnDisconnectCancel   = "cancel"
	OnDisconnectContinue = "continue"
)

// Limits of the fields other than context, which only the body limit bounds.
const (
	maxProfileBytes    = 64 << 10
	maxHistoryMessages = 200
	maxHistoryBytes    = 256 << 10
	maxIncludes        = 16
)

// Validate returns ErrAnalysisMalformed with the invalid fields. It also fills in
// the defaults: the mode, the disconnect policy, and the query from the history.
func (a *Analysis) Validate() error {
	if a.Target == TargetLegacy {
		a.Target, a.Mode = TargetH, ModeBroad
	}
	a.Mode = cmp.Or(a.Mode, ModeStandard)
	a.OnDisconnect = cmp.Or(a.OnDisconnect, OnDisconnectCancel)
	c := checked(a)
	if a.Target != TargetH {
		c.fail("target", "required: H, got %q", a.Target)
	}
	history := a.Prompt.check(&c)
	if a.Query == "" {
		a.Query = lastQuestion(history)
	}
	switch n := utf8.RuneCountInString(a.Query); {
	case n == 0 && len(a.Calls) == 0:
		c.fail("query", "required when prompt.m has no user message")
	case n > maxQuery:
		c.fail("query", "expected at most %d characters, got %d", maxQuery, n)
	}
	if a.Context == "" {
		c.fail("context", "required: the JSON text of the estate, as a string; or the estate, as an object or array")
	}
	if n := len(a.Profile); n > maxProfileBytes {
		c.fail("profile", "expected at most %d bytes of JSON, got %d", maxProfileBytes, n)
	}
	return c.as(ErrAnalysisMalformed)
}

// History returns the conversation in order, without its last message when that
// is the query itself.
func (a *Analysis) History() []Utterance {
	var ignored check
	history := a.Prompt.check(&ignored)
	if n := len(history); n > 0 && history[n-1].R == 0 && history[n-1].C == a.Query {
		return history[:n-1]
	}
	return history
}

// AnswerContains reports whether an earlier assistant message contains text. It
// returns false on a nil Prompt.
func (p *Prompt) AnswerContains(text string) bool {
	if p == nil {
		return false
	}
	for _, u := range p.M {
		if u.R == 1 && strings.Contains(u.C, text) {
			return true
		}
	}
	return false
}

// check returns the messages in the order of their indexes and adds the invalid
// ones to c.
func (p *Prompt) check(c *check) []Utterance {
	if p == nil {
		return nil
	}
	bytes := 0
	for _, u := range p.M {
		bytes += len(u.C)
	}
	c.items("prompt.m", len(p.M), 0, maxHistoryMessages)
	if bytes > maxHistoryBytes {
		c.fail("prompt.m", "expected at most %d bytes of text in all messages, got %d", maxHistoryBytes, bytes)
	}
	type indexed struct {
		index int
		Utterance
	}
	var list []indexed
	for key, u := range p.M {
		index, err := strconv.Atoi(key)
		if err != nil || index < 0 || strconv.Itoa(index) != key {
			c.fail("prompt.m", "keys are message indexes such as \"0\", got %q", key)
		}
		if u.R != 0 && u.R != 1 {
			c.fail("prompt.m."+key+".r", "expected 0 (user) or 1 (assistant), got %d", u.R)
		}
		list = append(list, indexed{index, u})
	}
	slices.SortFunc(list, func(a, b indexed) int { return cmp.Compare(a.index, b.index) })
	history := make([]Utterance, len(list))
	for i, u := range list {
		history[i] = u.Utterance
	}
	return history
}

func lastQuestion(history []Utterance) string {
	for _, u := range slices.Backward(history) {
		if u.R == 0 && u.C != "" {
			return u.C
		}
	}
	return ""
}
