package analyze

import (
	"errors"
	"time"

	"github.com/go-json-experiment/json"

	"cairn/schemas"
)

const (
	// renderTimeout bounds the rendering of one finished analysis.
	renderTimeout = 60 * time.Second
	// sendReserve is the part of the deadline reserved for sending the plain answer when
	// the rendering agent has sent nothing.
	sendReserve = 2 * time.Second
)

func directResponse(text string, err error) schemas.DirectResponse {
	return schemas.DirectResponse{
		Text: text, Code: schemas.ErrAnalysisUnavailable.Code, Reason: "rendering agent unavailable: " + err.Error(),
	}
}

// agentError returns the error in an error event of the agent.
func agentError(data []byte) error {
	var e schemas.StreamError
	if err := json.Unmarshal(data, &e); err != nil || e.Message == "" {
		return errors.New(string(data))
	}
	return errors.New(e.Message)
}
