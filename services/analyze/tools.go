package analyze

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sync/errgroup"

	"cairn/bus/telemetry"
	"cairn/services/internal/estate"
	"cairn/services/internal/model"
)

// The names of the tools.
const (
	inspectSchema = "inspect_schema"
	computeStats  = "compute_stats"
)

// offered are the tools that a model may call. Descriptions repeat bounds and defaults
// because Ollama drops minimum and default from a JSON Schema.
var offered = []model.Tool{{
	Name: inspectSchema,
	Description: "What one data array of the estate looks like: its fields, how many records it has, one sample record. " +
		"Use it before computing on an array whose fields you do not know.",
	Parameters: []byte(`{"type":"object","required":["data_key"],"properties":{
		"data_key":{"type":"string","description":"name of the data array, as listed"}}}`),
}, {
	Name: computeStats,
	Description: "Counts and other figures over the records of one data array. total is over all records that match the filter, " +
		"groups the same per value of group_by (missing and null values group under \"null\").",
	Parameters: []byte(`{"type":"object","required":["data_key"],"properties":{
		"data_key":{"type":"string","description":"name of the data array, as listed"},
		"group_by":{"type":"string","description":"field to group by, dots lead into objects; empty for the total only"},
		"filter":{"type":"object","description":"field: value pairs that must all hold, values equal in type; or field: {operator: value} with ne, gt, gte, lt, lte, in (array), contains, exists (true or false)"},
		"metrics":{"type":"array","items":{"type":"string"},"description":"count (default), or sum:field avg:field min:field max:field distinct:field p50:field p95:field"}}}`),
}}

const (
	// maxResult bounds a tool result in bytes. 1,000 groups with names of typical
	// length take a twentieth of it.
	maxResult = 512 << 10
	// minResultBytes is the minimum space for a result, in bytes.
	minResultBytes = 2 << 10
	// maxCalls bounds the calls of one message. Real messages have a handful.
	maxCalls = 16
)

// toolBytes is about the space that the tools take of a model's window.
var toolBytes = func() (n int) {
	for _, t := range offered {
		n += len(t.Name) + len(t.Description) + len(t.Parameters)
	}
	return n
}()

// tools computes on one estate.
type tools struct{ estate *estate.Estate }

// toolError is a result from which the model can correct its call.
type toolError struct {
	Error     string   `json:"error"`
	Available []string `json:"available,omitempty"`
}

// all runs the calls of one message, GOMAXPROCS at a time and identical ones once.
// Each result has about room bytes at most. The error is ctx.Err().
func (t tools) all(ctx context.Context, calls []model.Call, room int) ([]jsontext.Value, error) {
	answers := make([]jsontext.Value, len(calls))
	first := map[string]int{} // index of the first of identical calls
	same := func(c model.Call) string { return c.Name + " " + string(c.Input) }
	var running errgroup.Group
	running.SetLimit(runtime.GOMAXPROCS(0))
	for i, call := range calls[:min(maxCalls, len(calls))] {
		if _, again := first[same(call)]; again {
			continue
		}
		first[same(call)] = i
		running.Go(func() (err error) {
			answers[i], err = t.run(ctx, call, room)
			return err
		})
	}
	if err := running.Wait(); err != nil {
		return nil, err
	}
	tooMany, err := json.Marshal(toolError{Error: fmt.Sprintf(
		"not run: a message may have at most %d calls, got %d; call again if needed", maxCalls, len(calls))})
	for i, call := range calls {
		if i < maxCalls {
			answers[i] = answers[first[same(call)]]
		} else {
			answers[i] = tooMany
		}
	}
	return answers, err
}

// run returns the result of a call in about room bytes at most. Mistakes of the model
// are results, not errors. Too many groups are reduced to the largest, and marked as
// truncated.
func (t tools) run(ctx context.Context, call model.Call, room int) (jsontext.Value, error) {
	var result any
	var err error
	if slices.Contains(names(offered), call.Name) { // names that a model invents are no metric labels
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
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		result = mistake(err)
	}
	stats, ok := result.(estate.Stats)
	for n := len(stats.Groups); ok && keyBytes(stats) > room && n > 1; {
		n /= 2
		stats = largest(stats, n)
		result = stats
	}
	data, err := json.Marshal(result, json.Deterministic(true))
	for n := len(stats.Groups) / 2; ok && err == nil && len(data) > room && n > 0; n /= 2 {
		data, err = json.Marshal(largest(stats, n), json.Deterministic(true))
	}
	if err == nil && len(data) > room {
		return json.Marshal(toolError{Error: fmt.Sprintf(
			"the result has %d bytes, want at most %d; filter, or group by a field with fewer or shorter values", len(data), room)})
	}
	return data, err
}

// keyBytes returns the bytes that the group names take in the result.
func keyBytes(s estate.Stats) (n int) {
	for _, g := range s.Groups {
		n += len(g.Key)
	}
	return n * (1 + len(s.Metrics))
}

// largest returns s with its n largest groups.
func largest(s estate.Stats, n int) estate.Stats {
	s.Groups, s.Truncated = s.Groups[:n], true
	further := map[string]estate.Figures{}
	for name, f := range s.Metrics {
		f.Groups = f.Groups[:min(n, len(f.Groups))]
		further[name] = f
	}
	s.Metrics = further
	return s
}

func (t tools) inspect(ctx context.Context, input []byte) (any, error) {
	var ask struct {
		DataKey string `json:"data_key"`
	}
	if err := arguments(input, &ask); err != nil {
		return nil, fmt.Errorf("inspect_schema takes {data_key: string}: %w", err)
	}
	return t.estate.Inspect(ctx, ask.DataKey)
}

func (t tools) stats(ctx context.Context, input []byte) (any, error) {
	var ask estate.Query
	if err := arguments(input, &ask); err != nil {
		return nil, fmt.Errorf("compute_stats takes {data_key: string, group_by: string, filter: object, metrics: [string]}: %w", err)
	}
	return t.estate.Stats(ctx, ask)
}

// arguments decodes the input of a call. Unknown arguments are errors: ignoring one,
// such as a misspelled filter, would change the figures.
func arguments(input []byte, ask any) error {
	err := json.Unmarshal(input, ask, json.RejectUnknownMembers(true))
	var unknown *json.SemanticError
	if errors.As(err, &unknown) && errors.Is(err, json.ErrUnknownName) {
		return fmt.Errorf("unknown argument %q", unknown.JSONPointer.LastToken())
	}
	return err
}

// mistake returns the result for a wrong call.
func mistake(err error) any {
	var unknown *estate.UnknownKeyError
	if errors.As(err, &unknown) {
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
