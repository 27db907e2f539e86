package estate

import (
	"bytes"
	"encoding/json"
	"errors"
)

// ErrNotObject reports that a body is valid JSON, but not an object.
var ErrNotObject = errors.New("expected a JSON object")

// contextName is the member of an analyze request that contains the estate.
const contextName = "context"

// A Body is an analyze request, split into the estate and the other members.
type Body struct {
	// Context is the member "context" as written, for Text; nil if it is missing, or is not a string, an object
	// or an array.
	Context []byte
	// Members are the other members as written, sharing the body's memory. They
	// include "context" if it is another value. The last of duplicate names counts.
	Members map[string]json.RawMessage
	// Duplicates are the names that occur more than once.
	Duplicates []string
}

// SplitBody validates the whole body and splits it. The error is a *SyntaxError or
// ErrNotObject. The body must not change while the result is in use.
func SplitBody(body []byte) (Body, error) {
	s := splitter{scanner: scanner{text: body}}
	if err := s.document(s.top); err != nil {
		return Body{}, err
	}
	if s.Members == nil {
		return Body{}, ErrNotObject
	}
	v := value(s.Members[contextName])
	if len(v) == 0 || v.kind() != kindString && v.kind() != kindArray && v.kind() != kindObject {
		return s.Body, nil
	}
	s.Context = v
	if len(v) < len(body)/2 { // the estate must not keep a much larger body alive
		s.Context = bytes.Clone(v)
	}
	delete(s.Members, contextName)
	return s.Body, nil
}

// Text returns the text of the estate in a Body.Context: the content of a string, or an object or array as written.
func Text(context []byte) []byte {
	if value(context).kind() == kindString {
		return Unquote(context)
	}
	return context
}

// splitter is a scanner that records the members of the top-level object.
type splitter struct {
	scanner
	Body
}

func (s *splitter) top(i int) int {
	if s.at(i) != '{' {
		return s.value(i, 0)
	}
	s.Members = map[string]json.RawMessage{}
	return s.members(i, 0, s.member)
}

func (s *splitter) member(name, start int) (end int) {
	key := string(valid(value(s.text[name:skipString(s.text, name)]).content()))
	if _, duplicate := s.Members[key]; duplicate {
		s.Duplicates = append(s.Duplicates, key)
	}
	if key == contextName && s.at(start) == '"' {
		end = s.quoted(start)
	} else {
		end = s.value(start, 1)
	}
	if end >= 0 {
		s.Members[key] = json.RawMessage(s.text[start:end:end])
	}
	return end
}
