package ask

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/estatefile"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/edge/client"
	"cairn/schemas"
)

// computeOptions are the flags of cairn compute.
type computeOptions struct {
	connect.HTTP
	estates []string
	inspect bool
	input   map[string]any // of compute_stats, by member; inputMember replaces the other ones
	output  string
}

// ComputeCommand returns the command cairn compute.
func ComputeCommand() *cobra.Command {
	c := &computeOptions{input: map[string]any{}}
	cmd := &cobra.Command{
		Use:   "compute --estate FILE|URL|- [--data-key KEY]",
		Short: "Compute figures of an estate without a model",
		Long: `Compute runs compute_stats, the function with which models compute figures, on an estate:
counts and other metrics of the records of one array, by group, with filters. No model is
called. Without --data-key, it lists the arrays of the estate; with --inspect, it describes
the fields of one.

An estate is JSON or JSON Lines: a file, stdin (-), or an http or https URL, as for
"cairn ask".

The last row of a table with groups is the total, which CSV omits. Notes are printed to
stderr. The exit code is 2 for an array, metric or filter that the server refuses.`,
		Example: `  cairn compute --estate deploy/examples/estate.json                                # the arrays
  cairn compute --estate deploy/examples/estate.json --data-key hosts --inspect     # the fields of an array
  cairn compute --estate deploy/examples/estate.json --data-key hosts --group-by site --metric avg:cpu_percent
  cairn compute --estate deploy/examples/estate.json --data-key hosts --filter '{"site":"muc1"}' --names 5
  cairn compute --estate deploy/examples/estate.json --data-key hosts --top cpu_percent --top-limit 3 -o csv
  inventory | cairn compute --estate - --data-key hosts --filter '{"patched":false}' --share '{}'`,
		Args:              flags.Args("no arguments", 0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              c.run,
	}
	c.Flags(cmd)
	f := cmd.Flags()
	estatefile.Flag(f, &c.estates)
	f.BoolVar(&c.inspect, "inspect", false, "print the fields of the array")
	for _, flag := range inputFlags {
		f.Var(inputValue{flag, c.input}, flag.name, flag.usage)
	}
	flags.Output(cmd, &c.output, "table", "csv", "json")
	return cmd
}

// Kinds of the values of inputFlags.
const (
	textValue    = "string"
	integerValue = "int"
	listValue    = "stringArray" // the flag may be repeated
	objectValue  = "JSON object"
	arrayValue   = "JSON array"
)

// inputMember is the member of computeOptions.input that is the whole input.
const inputMember = "input"

// inputFlag is a flag whose value is a member of the input of compute_stats, or of an object in it.
type inputFlag struct{ name, member, kind, usage string }

var inputFlags = []inputFlag{
	{"data-key", "data_key", textValue, "`KEY` of the array, as listed without this flag"},
	{"group-by", "group_by", listValue, "`FIELD` to group records by; may be repeated, for at most 3 fields"},
	{"filter", "filter", objectValue,
		"only records that match this `JSON`: {field: value} or {field: {operator: operand}}"},
	{"any-of", "any_of", arrayValue, "only records that also match one of the filters in this `JSON` array"},
	{"metric", "metrics", listValue,
		"`METRIC`: count (default), or OPERATION:FIELD with sum, avg, min, max, distinct, p50 or p95; may be repeated"},
	{"having", "having", objectValue, "only groups whose metrics match this `JSON`: {metric: {operator: number}}"},
	{"over-groups", "over_groups", listValue,
		"`FIGURE` over the values of all groups: avg, min, max, sum, p50, p95 or count; may be repeated"},
	{"names", "names.limit", integerValue, "print the names of at most `N` matching records"},
	{"name-field", "names.field", textValue, "`FIELD` with the names of the records"},
	{"top", "top.by", textValue, "print the record with the largest value of this `FIELD`"},
	{"top-order", "top.order", textValue, "`ORDER` of --top: desc (default), or asc for the smallest values"},
	{"top-limit", "top.limit", integerValue, "maximum `NUMBER` of records of --top; default 1"},
	{"share", "share.of", objectValue,
		"print the share of the records matching this `JSON` filter that also match --filter; {} matches all"},
	{"lookup", "lookup", objectValue,
		"follow references by this `JSON`: {field: {\"data_key\": key, \"field\": field}}"},
	{"input", inputMember, objectValue, "whole input of compute_stats as `JSON`, in place of the flags for it"},
}

// inputValue is the value of an inputFlag.
type inputValue struct {
	inputFlag
	input map[string]any
}

// Set implements pflag.Value.
func (f inputValue) Set(text string) (err error) {
	object, name := f.input, f.member
	if outer, inner, nested := strings.Cut(f.member, "."); nested {
		if object[outer] == nil {
			object[outer] = map[string]any{}
		}
		object, name = object[outer].(map[string]any), inner
	}
	switch f.kind {
	case textValue:
		object[name] = text
	case listValue:
		list, _ := object[name].([]string) // nil at first
		object[name] = append(list, text)
	case integerValue:
		object[name], err = strconv.Atoi(text)
	default:
		object[name], err = parse(text, f.kind)
	}
	return err
}

// parse returns the JSON object or array in a text.
func parse(text, kind string) (value jsontext.Value, err error) {
	begin := jsontext.KindBeginObject
	if kind == arrayValue {
		begin = jsontext.KindBeginArray
	}
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return nil, fmt.Errorf("expected a %s: %w", kind, err)
	}
	if value.Kind() != begin {
		return nil, fmt.Errorf("expected a %s, got %s", kind, text)
	}
	return value, nil
}

// String implements pflag.Value. No flag has a default.
func (inputValue) String() string { return "" }

// Type implements pflag.Value.
func (f inputValue) Type() string { return f.kind }

func (c *computeOptions) validate() error {
	_, whole := c.input[inputMember]
	_, keyed := c.input["data_key"]
	top, _ := c.input["top"].(map[string]any)
	switch {
	case len(c.estates) == 0:
		return estatefile.ErrMissing
	case whole && (c.inspect || len(c.input) > 1):
		return errors.New("--input is the whole input: expected no other flag for it")
	case !whole && !keyed && (c.inspect || len(c.input) > 0):
		return errors.New("--data-key is required with the other flags of a computation")
	case c.inspect && len(c.input) > 1:
		return errors.New("--inspect requires --data-key only")
	case top != nil && top["by"] == nil:
		return errors.New("--top-order and --top-limit require --top")
	}
	return nil
}

// run runs one tool call and prints its result.
func (c *computeOptions) run(cmd *cobra.Command, _ []string) error {
	if err := c.validate(); err != nil {
		return flags.UsageError(cmd, err)
	}
	estate, err := estatefile.ReadAll(cmd.Context(), c.estates, cmd.InOrStdin())
	if err != nil {
		return err
	}
	tool, input := schemas.ToolComputeStats, any(c.input)
	switch whole := c.input[inputMember]; {
	case whole != nil:
		input = whole
	case c.inspect:
		tool = schemas.ToolInspectSchema
	case len(c.input) == 0:
		tool, input = schemas.ToolInspectSchema, listArrays
	}
	query, err := json.Marshal(input, json.Deterministic(true))
	if err != nil {
		return flags.Usage(err)
	}
	progress := output.NewProgress(cmd.ErrOrStderr(), "computing", -1)
	result, err := call(cmd.Context(), c.Client, estate, schemas.ToolCall{Name: tool, Input: query})
	progress.Close()
	if err != nil {
		return err
	}
	var r report
	switch {
	case c.output == "json":
		return output.JSON(cmd.OutOrStdout(), result)
	case tool == schemas.ToolComputeStats:
		r, err = reportStats(query, result)
	case c.inspect:
		r, err = reportFields(result)
	default:
		r, err = reportArrays(result)
	}
	if err != nil {
		return fmt.Errorf("decode the result of %s: %w", tool, err)
	}
	return r.print(cmd.OutOrStdout(), cmd.ErrOrStderr(), c.output)
}

// listArrays is the input of inspect_schema for the list of all arrays.
var listArrays = jsontext.Value(`{"data_key":""}`)

// call runs one tool call on the server, without a model. An error in its result is a usage error.
func call(ctx context.Context, c *client.Client, estate string, tool schemas.ToolCall) (jsontext.Value, error) {
	calls := []schemas.ToolCall{tool}
	run, err := c.Analyze(ctx, schemas.Analysis{Context: estate, Target: schemas.TargetH, Calls: calls})
	if err != nil {
		return nil, err
	}
	v := &verdict{}
	var result schemas.ToolResult
	for e, err := range run.Events() {
		if err == nil && e.Type == schemas.EventToolResult {
			err = e.Decode(&result)
		}
		if err == nil {
			err = v.handle(e)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := v.err(); err != nil {
		return nil, err
	}
	var refused struct {
		Error     string   `json:"error"`
		Available []string `json:"available"`
	}
	if err := json.Unmarshal(result.Result, &refused); err != nil {
		return nil, fmt.Errorf("decode the result of %s: %w", tool.Name, err)
	}
	if refused.Error == "" {
		return result.Result, nil
	}
	names := refused.Available[:min(maxListed, len(refused.Available))]
	if len(names) > 0 && !strings.Contains(refused.Error, "did you mean") {
		refused.Error += "; available: " + strings.Join(names, ", ")
	}
	return nil, flags.Usage(errors.New(refused.Error))
}

// maxListed is the maximum number of names in an error and of arrays at the start of a conversation.
const maxListed = 20

// printArrays prints the arrays of the estate, or why it has none.
func printArrays(ctx context.Context, c *client.Client, estate string, errOut io.Writer) error {
	result, err := call(ctx, c, estate, schemas.ToolCall{Name: schemas.ToolInspectSchema, Input: listArrays})
	if err != nil {
		return err
	}
	r, err := reportArrays(result)
	if err != nil {
		return err
	}
	for _, note := range r.notes {
		output.Dimmed(errOut, note)
	}
	rows := r.tables[0].rows
	for _, row := range rows[:min(maxListed, len(rows))] {
		output.Dimmed(errOut, "  "+strings.Join(row, "  "))
	}
	if len(rows) > maxListed {
		output.Dimmed(errOut, fmt.Sprintf("  … and %d more", len(rows)-maxListed))
	}
	return nil
}
