package estate

import (
	"encoding/json"
	"errors"
)

// ErrNotObject says that a body is JSON but no object.
var ErrNotObject = errors.New("want a JSON object")

// contextName is the member of an analyze body that holds the estate.
const contextName = "context"

// A Body is the body of an analyze request taken apart.
type Body struct {
	// Context is the unescaped text of the member "context"; nil when there is
	// none or it is no string, not nil when it is the empty string.
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
	s := scanner{text: body}
	members := map[string]json.RawMessage{}
	var duplicates []string
	isObject := false
	err := s.document(func(i int) int {
		if isObject = s.at(i) == '{'; !isObject {
			return s.value(i, 0)
		}
		return s.members(i, 0, func(name, at int) int {
			end := s.value(at, 1)
			if end < 0 {
				return -1
			}
			key := string(value(body[name:skipString(body, name)]).content())
			if _, twice := members[key]; twice {
				duplicates = append(duplicates, key)
			}
			members[key] = json.RawMessage(body[at:end:end])
			return end
		})
	})
	switch {
	case err != nil:
		return Body{}, err
	case !isObject:
		return Body{}, ErrNotObject
	}
	b := Body{Members: members, Duplicates: duplicates}
	if v := value(members[contextName]); len(v) > 0 && v.kind() == kindString {
		b.Context = v.content()
		delete(members, contextName)
	}
	return b, nil
}
