package analyze

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas"
	"cairn/services/internal/estate"
)

// read splits a request: the small members are decoded and validated like any other
// request; the estate is only checked, and returned as written.
func read(body []byte) (schemas.Analysis, []byte, error) {
	var none schemas.Analysis
	split, err := estate.SplitBody(body)
	if err != nil {
		return none, nil, malformed(err)
	}
	if len(split.Duplicates) > 0 {
		return none, nil, schemas.ErrAnalysisMalformed.With(schemas.FieldError{Field: split.Duplicates[0],
			Message: "appears twice"})
	}
	twice := jsontext.AllowDuplicateNames(true) // nested duplicates are reported when the member is decoded
	for name, member := range split.Members {
		if !jsontext.Value(member).IsValid(twice) { // SplitBody has checked the syntax
			return none, nil, schemas.ErrAnalysisMalformed.With(schemas.FieldError{Field: name, Message: "must be valid UTF-8"})
		}
	}
	small, err := json.Marshal(split.Members, twice)
	if err != nil {
		return none, nil, malformed(err)
	}
	req, err := schemas.Read[schemas.Analysis](small, schemas.ErrAnalysisMalformed)
	if err != nil {
		return none, nil, err
	}
	if len(split.Context) > 0 && string(split.Context) != `""` {
		req.Context = "-" // marks the context as present
	}
	return req, split.Context, req.Validate()
}

func malformed(err error) error {
	if syntax, ok := errors.AsType[*estate.SyntaxError](err); ok {
		return schemas.ErrAnalysisMalformed.Because(fmt.Sprintf("not valid JSON: %v", syntax))
	}
	return schemas.ErrAnalysisMalformed.Because(err.Error())
}
