package edge

import (
	"strings"

	"cairn/bus"
	"cairn/schemas"
)

// withETag returns the GET action with an ETag, derived from the revision or else from the
// content. A request whose If-None-Match has the current ETag is answered with 304.
func withETag(a action) action {
	a.ETag = true
	answer := a.answer
	a.answer = func(x *exchange) error {
		if _, err := entityTags(x, bus.HeaderIfNoneMatch); err != nil {
			return err
		}
		return answer(x)
	}
	return a
}

// conditional returns the registration or deletion with a message, and the preconditions If-Match and
// If-None-Match. The reply to a registration has the ETag of the record.
func conditional(a action) action {
	a = withMessage(a)
	a.Conditional = true
	answer := a.answer
	a.answer = func(x *exchange) error {
		match, err := entityTags(x, bus.HeaderIfMatch)
		if err != nil {
			return err
		}
		none, err := entityTags(x, bus.HeaderIfNoneMatch)
		if err != nil {
			return err
		}
		if match != "" || none != "" {
			x.ctx = bus.WithPrecondition(x.ctx, schemas.Precondition{IfMatch: match, IfNoneMatch: none})
		}
		return answer(x)
	}
	return a
}

// entityTags returns the entity tags in the header of the name; empty if there are none.
func entityTags(x *exchange, name string) (string, error) {
	given := x.r.Header[name]
	if len(given) == 0 {
		return "", nil
	}
	tags := strings.Join(given, ",")
	if err := schemas.CheckTags(tags); err != nil {
		return "", x.spec.Invalid.With(schemas.FieldError{Field: name, Message: err.Error()})
	}
	return tags, nil
}
