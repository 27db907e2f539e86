package analyze

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/bus/admission"
	"cairn/bus/telemetry"
	"cairn/schemas"
	"cairn/services/internal/estate"
	"cairn/services/internal/model"
)

// The names of the tools.
const (
	inspectSchema = schemas.ToolInspectSchema
	computeStats  = schemas.ToolComputeStats
)

// offered are the tools that a model may call.
var offered = func() (list []model.Tool) {
	for _, t := range schemas.EstateTools() {
		list = append(list, model.Tool{Name: t.Name, Description: t.Description, Parameters: []byte(t.Parameters)})
	}
	return list
}()

const (
	// maxResult bounds a tool result in bytes. 1,000 groups with names of typical
	// length take a twentieth of it.
	maxResult = 512 << 10
	// minResultBytes is the minimum space for a result, in bytes.
	minResultBytes = 2 << 10
	// maxCalls bounds the calls of one message. Real messages have a handful.
	maxCalls = 16
)

// toolBytes approximates the bytes of a model's window that the tool definitions use.
var toolBytes = func() (n int) {
	for _, t := range offered {
		n += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	return n
}()

// tools computes on one estate.
type tools struct {
	estate *estate.Estate
	cpus   *admission.Pool // for computations
}

// toolError is a result from which the model can correct its call.
type toolError struct {
	Error     string   `json:"error"`
	Available []string `json:"available,omitempty"`
}

// all runs the calls of one message in order. Each result has about limit bytes at most. The error is ctx.Err().
func (t tools) all(ctx context.Context, calls []model.Call, limit int) ([]result, error) {
	results := make([]result, len(calls))
	tooMany, err := json.Marshal(toolError{Error: fmt.Sprintf(
		"not run: a message may have at most %d calls, got %d; call again if needed", maxCalls, len(calls))})
	for i, call := range calls {
		if i >= maxCalls {
			results[i] = result{call: call, answer: tooMany}
		} else if results[i], err = t.run(ctx, call, limit); err != nil {
			return nil, err
		}
	}
	return results, err
}

// run returns the result of a call in about limit bytes at most. For an invalid
// call the result describes the error to the model. A result with too many groups has the largest
// ones and is marked as truncated.
func (t tools) run(ctx context.Context, call model.Call, limit int) (r result, err error) {
	r.call = call
	release, err := admission.Acquire(ctx, t.cpus, 1)
	defer release()
	if err != nil {
		return r, err
	}
	r.value, err = t.compute(ctx, call)
	if err != nil {
		return r, err
	}
	r.answer, err = bounded(r.value, limit)
	return r, err
}

// compute returns the value of a call.
func (t tools) compute(ctx context.Context, call model.Call) (any, error) {
	var result any
	var err error
	if slices.Contains(names(offered), call.Name) { // unknown names are not metric labels
		var end func()
		ctx, end = telemetry.ToolCall(ctx, call.Name, call.ID)
		defer end()
	}
	switch call.Name {
	case inspectSchema:
		result, err = t.inspect(ctx, call.Input)
	case computeStats:
		result, err = t.stats(ctx, call.Input)
	default:
		result = toolError{Error: fmt.Sprintf("unknown tool %q", call.Name), Available: names(offered)}
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, estate.ErrMemory):
		return nil, errMemory
	case err != nil:
		return invalidCall(err), nil
	}
	return result, nil
}

// bounded returns a value as JSON in about limit bytes at most.
func bounded(result any, limit int) (jsontext.Value, error) {
	stats, ok := result.(estate.Stats)
	for n := stats.Listed(); ok && keyBytes(stats) > limit && n > 1; {
		n /= 2
		stats = stats.Largest(n)
		result = stats
	}
	data, err := json.Marshal(result, json.Deterministic(true))
	for n := stats.Listed() / 2; ok && err == nil && len(data) > limit && n > 0; n /= 2 {
		data, err = json.Marshal(stats.Largest(n), json.Deterministic(true))
	}
	if err == nil && len(data) > limit {
		return json.Marshal(toolError{Error: fmt.Sprintf(
			"the result has %d bytes, expected at most %d; filter, or group by a field with fewer or shorter values", len(data),
			limit)})
	}
	return data, err
}

// keyBytes returns the bytes that the group names take in the result.
func keyBytes(s estate.Stats) (n int) {
	for _, g := range s.Groups {
		n += len(g.Key)
	}
	for _, row := range s.Rows {
		for _, label := range row.By {
			n += len(label)
		}
	}
	return n * (1 + len(s.Metrics))
}

func (t tools) inspect(ctx context.Context, input []byte) (any, error) {
	var args struct {
		DataKey string `json:"data_key"`
	}
	if err := arguments(input, &args); err != nil {
		return nil, fmt.Errorf("inspect_schema takes {data_key: string}: %w", err)
	}
	if args.DataKey == "" && !t.estate.Has("") {
		return t.estate.Contents(), nil
	}
	return t.estate.Inspect(ctx, args.DataKey)
}

func (t tools) stats(ctx context.Context, input []byte) (any, error) {
	var args estate.Query
	if err := arguments(input, &args); err != nil {
		return nil, fmt.Errorf("compute_stats takes {data_key, group_by, filter, any_of, metrics, having, over_groups, names, top, share, lookup}: %w", err)
	}
	return t.estate.Stats(ctx, args)
}

// arguments decodes the input of a call. Unknown arguments are errors: ignoring one,
// such as a misspelled filter, would change the figures.
func arguments(input []byte, args any) error {
	err := json.Unmarshal(input, args, json.RejectUnknownMembers(true))
	var unknown *json.SemanticError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &unknown) && errors.Is(err, json.ErrUnknownName):
		if unknown.JSONPointer == "/"+malformedMember {
			return errors.New("the arguments are not valid; expected them as one JSON object")
		}
		return fmt.Errorf("unknown argument %q", unknown.JSONPointer.LastToken())
	}
	return errors.New(schemas.DecodingMessage(err))
}

// invalidCall returns the result of an invalid call.
func invalidCall(err error) any {
	if unknown, ok := errors.AsType[*estate.UnknownKeyError](err); ok {
		return unknown
	}
	return toolError{Error: err.Error()}
}

func names(list []model.Tool) []string {
	out := make([]string, len(list))
	for i, t := range list {
		out[i] = t.Name
	}
	return out
}
