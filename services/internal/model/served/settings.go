package served

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"cairn/services/internal/model"
)

const (
	// firstChunk is long enough to load a model on a slow machine, and short enough to
	// leave time for a retry.
	firstChunk = 60 * time.Second
	// A server reads promptSpeed tokens of a prompt a second, as small models do on two
	// processor cores, or more.
	promptSpeed   = 40
	bytesPerToken = 3
	// smallModel is the number of parameters below which the figures in a model's
	// sentences are unreliable.
	smallModel = 7e9
)

// ReasoningTokens is the allowance for a model's reasoning, where the server counts it
// as part of a bounded message.
const ReasoningTokens = 2048

// SettingNames lists the settings of [Settings], for errors.
const SettingNames = "num_ctx, first_chunk, plan, answers"

// Settings are the settings that the URLs of all served models have.
type Settings struct {
	NumCtx     int           // tokens of context; 0: as the server reports
	FirstChunk time.Duration // time to the first data, without [ReadingTime]
	Plan       model.Planning
	Answers    model.Answers // empty: by the size of the model
}

// Defaults returns the settings of a URL without any.
func Defaults() Settings { return Settings{FirstChunk: firstChunk, Plan: model.PlanSchema} }

// Set sets a setting of a URL. It returns false if there is none of that name.
func (s *Settings) Set(name, value string) (ok bool, err error) {
	var valid bool
	var syntax string
	switch name {
	case "num_ctx":
		s.NumCtx, err = strconv.Atoi(value)
		valid, syntax = err == nil && s.NumCtx > 0, "a positive number of tokens"
	case "first_chunk":
		s.FirstChunk, err = time.ParseDuration(value)
		valid, syntax = err == nil && s.FirstChunk > 0, "a positive duration such as 60s"
	case "plan":
		s.Plan = model.Planning(value)
		valid, syntax = slices.Contains([]model.Planning{model.PlanSchema, model.PlanTools}, s.Plan), "schema or tools"
	case "answers":
		s.Answers = model.Answers(value)
		valid = slices.Contains([]model.Answers{model.AnswersStated, model.AnswersWritten, model.AnswersForwarded}, s.Answers)
		syntax = "stated, written or forwarded"
	default:
		return false, nil
	}
	if !valid {
		return true, fmt.Errorf("%s=%s: expected %s", name, value, syntax)
	}
	return true, nil
}

// Profile returns the profile of a model with a number of parameters; 0: unknown.
func (s *Settings) Profile(window int, parameters float64) model.Profile {
	answers := model.AnswersWritten
	if parameters > 0 && parameters < smallModel {
		answers = model.AnswersStated
	}
	return model.Profile{Window: window, Plan: s.Plan, Answers: cmp.Or(s.Answers, answers)}
}

// ReadingTime is the longest time in which a server reads the parts of a prompt. It sends
// nothing meanwhile.
func ReadingTime(parts ...any) time.Duration {
	data, _ := json.Marshal(parts) // an error fails the request as well
	return time.Duration(len(data)) * time.Second / (promptSpeed * bytesPerToken)
}
