package schemas

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Names of the functions that compute on an estate.
const (
	ToolInspectSchema = "inspect_schema"
	ToolComputeStats  = "compute_stats"
)

// maxToolCalls bounds the calls of one Analysis.
const maxToolCalls = 16

// EstateTool is a function that computes on an estate, as models receive it.
type EstateTool struct {
	Name        string
	Description string
	Parameters  jsontext.Value // JSON Schema
}

// EstateTools returns the functions that compute on an estate. Descriptions repeat
// bounds and defaults because Ollama drops minimum and default from a JSON Schema.
func EstateTools() []EstateTool {
	return []EstateTool{{
		Name: ToolInspectSchema,
		Description: "Describes one array of the estate: its fields, how many records it has, one sample record. " +
			"Use it before computing on an array whose fields you do not know.",
		Parameters: jsontext.Value(`{"type":"object","required":["data_key"],"properties":{
		"data_key":{"type":"string","description":"name of the data array, as listed"}}}`),
	}, {
		Name: ToolComputeStats,
		Description: "Counts and other figures over the records of one data array. total is over all records that match the filter, " +
			"groups the same per value of group_by (missing and null values group under \"null\").",
		Parameters: jsontext.Value(`{"type":"object","required":["data_key"],"properties":{
		"data_key":{"type":"string","description":"name of the data array, as listed"},
		"group_by":{"type":"string","description":"field to group by, dots lead into objects; empty for the total only"},
		"filter":{"type":"object","description":"field: value pairs that must all hold, values equal in type; or field: {operator: value} with ne, gt, gte, lt, lte, in (array), contains, exists (true or false), not (an object of operators); gt, gte, lt, lte take a value or {field: name of another field}"},
		"any_of":{"type":"array","items":{"type":"object"},"description":"further filters, of which at least one must hold"},
		"metrics":{"type":"array","items":{"type":"string"},"description":"count (default), or sum:field avg:field min:field max:field distinct:field p50:field p95:field"}}}`),
	}}
}

// ToolCall requests one of EstateTools.
type ToolCall struct {
	Name  string         `json:"name" doc:"inspect_schema or compute_stats"`
	Input jsontext.Value `json:"input" doc:"arguments of the function, an object"`
}

// checkCalls adds the invalid tool calls of an analysis to c.
func checkCalls(c *check, calls []ToolCall) {
	c.atMost("calls", len(calls), maxToolCalls)
	for i, call := range calls {
		if call.Name != ToolInspectSchema && call.Name != ToolComputeStats {
			c.fail(fmt.Sprintf("calls[%d].name", i), "expected %s or %s, got %q", ToolInspectSchema, ToolComputeStats, call.Name)
		}
		if call.Input.Kind() != jsontext.KindBeginObject {
			c.fail(fmt.Sprintf("calls[%d].input", i), "required: an object with the arguments of the function")
		}
	}
}
