package analyze

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

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
	small, err := json.Marshal(split.Members)
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
