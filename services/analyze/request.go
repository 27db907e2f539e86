package analyze

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas"
	"cairn/services/internal/estate"
)

// read takes a request apart: its small members are decoded and validated as
// any request, the estate's text is checked and stays as written.
func read(body []byte) (schemas.Analysis, []byte, error) {
	var none schemas.Analysis
	split, err := estate.SplitBody(body)
	if err != nil {
		return none, nil, unreadable(err)
	}
	if len(split.Duplicates) > 0 {
		return none, nil, schemas.ErrAnalysisMalformed.With(schemas.FieldError{Field: split.Duplicates[0], Message: "appears twice"})
	}
	twice := jsontext.AllowDuplicateNames(true) // Inside of members they are told when those are decoded.
	for name, member := range split.Members {
		if !jsontext.Value(member).IsValid(twice) { // It is JSON, as the body is.
			return none, nil, schemas.ErrAnalysisMalformed.With(schemas.FieldError{Field: name, Message: "must be valid UTF-8"})
		}
	}
	small, err := json.Marshal(split.Members, twice)
	if err != nil {
		return none, nil, unreadable(err)
	}
	ask, err := schemas.Read[schemas.Analysis](small, schemas.ErrAnalysisMalformed)
	if err != nil {
		return none, nil, err
	}
	if len(split.Context) > len(`""`) {
		ask.Context = "-" // it is there; what it says is not read from here
	}
	return ask, split.Context, ask.Validate()
}

func unreadable(err error) error {
	var syntax *estate.SyntaxError
	if errors.As(err, &syntax) {
		return schemas.ErrAnalysisMalformed.Because(fmt.Sprintf("not valid JSON: %v", syntax))
	}
	return schemas.ErrAnalysisMalformed.Because(err.Error())
}
