package estate

import (
	"bytes"
	"encoding/json"
	"errors"
)

// ErrNotObject says that a body is JSON but no object.
var ErrNotObject = errors.New("want a JSON object")

// contextName is the member of an analyze body that holds the estate.
const contextName = "context"

// A Body is the body of an analyze request taken apart.
type Body struct {
	// Context is the member "context" as written, for Unquote; nil when there is
	// none or it is no string.
	Context []byte
	// Members are the other members as written, sharing the body's memory. The
	// member "context" is among them when it is no string. Of members with the
	// same name the last one counts.
	Members map[string]json.RawMessage
	// Duplicates are the names that are there more than once.
	Duplicates []string
}

// SplitBody checks the whole body and takes it apart. The error is a
// *SyntaxError or ErrNotObject. The body must not change while the result is
// used.
func SplitBody(body []byte) (Body, error) {
	s := splitter{scanner: scanner{text: body}}
	if err := s.document(s.top); err != nil {
		return Body{}, err
	}
	if s.Members == nil {
		return Body{}, ErrNotObject
	}
	v := value(s.Members[contextName])
	if len(v) == 0 || v.kind() != kindString {
		return s.Body, nil
	}
	s.Context = v
	if len(v) < len(body)/2 { // Who keeps it shall not keep all of the body.
		s.Context = bytes.Clone(v)
	}
	delete(s.Members, contextName)
	return s.Body, nil
}

// splitter is a scanner that notes the members of the top-level object.
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

func (s *splitter) member(name, at int) (end int) {
	key := string(valid(value(s.text[name:skipString(s.text, name)]).content()))
	if _, twice := s.Members[key]; twice {
		s.Duplicates = append(s.Duplicates, key)
	}
	if key == contextName && s.at(at) == '"' {
		end = s.quoted(at)
	} else {
		end = s.value(at, 1)
	}
	if end >= 0 {
		s.Members[key] = json.RawMessage(s.text[at:end:end])
	}
	return end
}
