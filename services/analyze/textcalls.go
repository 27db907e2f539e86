package analyze

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/services/internal/model"
)

// maxTextCall bounds the text that is held back because it may be a call, in bytes.
const maxTextCall = 16 << 10

// callMarks begin a call that a model writes as text: the tags of Qwen and Hermes, of Mistral and of Llama, a
// fenced block, and an object. Servers turn them into calls only if they know the model's format.
var callMarks = []string{"<tool_call>", "<tools>", "[TOOL_CALLS]", "<|python_tag|>", "```", "{", "[{"}

// callTails may follow a call: a closing tag or fence.
var callTails = []string{"</tool_call>", "</tools>", "```", ";"}

// textCalls finds tool calls in streamed text. Text that may be a call is held back until it is known to be one or not.
type textCalls struct {
	offered []string // names of tools; none: all text is text
	calls   []model.Call
	held    string
	closing bool // the held text may begin with a tail of the last call
}

// add adds a piece and returns the text that can be sent.
func (t *textCalls) add(piece string) string {
	if len(t.offered) == 0 {
		return piece
	}
	t.held += piece
	return t.release(false)
}

// rest returns the text held back at the end of the message. A call that is cut off is no text: it is dropped.
func (t *textCalls) rest() string { return t.release(true) }

func (t *textCalls) release(end bool) string {
	var out strings.Builder
	for {
		if t.closing && !t.trimTail(end) {
			return out.String()
		}
		start, mark := t.mark()
		if start < 0 {
			keep := 0
			if !end {
				keep = t.partialMark()
			}
			out.WriteString(t.held[:len(t.held)-keep])
			t.held = t.held[len(t.held)-keep:]
			return out.String()
		}
		out.WriteString(t.held[:start])
		t.held = t.held[start:]
		calls, size, err := t.parse(t.held, mark)
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF) && !end && len(t.held) <= maxTextCall:
			return out.String()
		case errors.Is(err, io.ErrUnexpectedEOF) && t.namesTool():
			t.held = ""
			return out.String()
		case len(calls) == 0:
			out.WriteString(t.held[:len(mark)])
			t.held = t.held[len(mark):]
		default:
			t.calls = append(t.calls, calls...)
			t.held, t.closing = t.held[size:], true
		}
	}
}

// trimTail removes the tail of a call, and white space before it. It returns false if the held text may be the
// beginning of one.
func (t *textCalls) trimTail(end bool) bool {
	t.held = strings.TrimLeft(t.held, " \n\t")
	for _, tail := range callTails {
		if len(t.held) < len(tail) && strings.HasPrefix(tail, t.held) && !end {
			return false
		}
		if rest, ok := strings.CutPrefix(t.held, tail); ok {
			t.held, t.closing = rest, false
			return true
		}
	}
	t.closing = false
	return true
}

// mark returns the first mark in the held text; -1 if there is none.
func (t *textCalls) mark() (start int, mark string) {
	start = -1
	for _, m := range callMarks {
		if i := strings.Index(t.held, m); i >= 0 && (start < 0 || i < start) {
			start, mark = i, m
		}
	}
	return start, mark
}

// partialMark returns the length of the longest end of the held text that may begin a mark.
func (t *textCalls) partialMark() (n int) {
	for _, m := range callMarks {
		n = max(n, overlap(t.held, m))
	}
	return n
}

// namesTool reports whether the held text has the name of a tool.
func (t *textCalls) namesTool() bool {
	return slices.ContainsFunc(t.offered, func(name string) bool { return strings.Contains(t.held, `"`+name+`"`) })
}

// parse returns the calls at the start of a text, and their size with the mark. The error is io.ErrUnexpectedEOF if the
// text may be the beginning of a call.
func (t *textCalls) parse(text, mark string) (calls []model.Call, size int, err error) {
	body := strings.TrimPrefix(text, mark)
	if mark == "{" || mark == "[{" {
		body = text
	}
	body = strings.TrimPrefix(strings.TrimLeft(body, " \n\t"), "json")
	trimmed := strings.TrimLeft(body, " \n\t")
	if strings.HasPrefix("json", trimmed) { // or nothing
		return nil, 0, io.ErrUnexpectedEOF
	}
	if trimmed[0] != '{' && trimmed[0] != '[' {
		return nil, 0, nil
	}
	decoder := jsontext.NewDecoder(strings.NewReader(trimmed))
	value, err := decoder.ReadValue()
	if err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			return nil, 0, io.ErrUnexpectedEOF
		}
		return nil, 0, nil
	}
	if calls = t.callsIn(value); len(calls) == 0 {
		return nil, 0, nil
	}
	return calls, len(text) - len(trimmed) + int(decoder.InputOffset()), nil
}

// callsIn returns the calls of offered tools in a JSON value: an object {"name", "arguments" or "parameters"}, or
// an array of them.
func (t *textCalls) callsIn(value jsontext.Value) (calls []model.Call) {
	values := []jsontext.Value{bytes.Clone(value)}
	if value.Kind() == '[' && json.Unmarshal(value, &values) != nil {
		return nil
	}
	for _, v := range values {
		var call struct {
			Name       string         `json:"name"`
			Arguments  jsontext.Value `json:"arguments"`
			Parameters jsontext.Value `json:"parameters"`
		}
		if json.Unmarshal(v, &call) != nil || !slices.Contains(t.offered, call.Name) {
			continue
		}
		input := call.Arguments
		if len(input) == 0 {
			input = call.Parameters
		}
		calls = append(calls, model.Call{Name: call.Name, Input: []byte(input)})
	}
	return calls
}
