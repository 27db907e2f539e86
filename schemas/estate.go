package schemas

import "github.com/go-json-experiment/json/jsontext"

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
		Description: "Describes one array of the estate: its fields with types and values, the number of records, one sample record, " +
			"the arrays inside its records. Use it before computing on an array whose fields you do not know.",
		Parameters: jsontext.Value(`{"type":"object","required":["data_key"],"properties":{
		"data_key":{"type":"string","description":"name of the data array, as listed; empty: list the arrays"}}}`),
	}, {
		Name: ToolComputeStats,
		Description: "Counts and other figures over the records of one data array. total is over all records that match the filter, " +
			"groups the same per value of group_by (missing and null values group under \"null\", lists under each element). " +
			"Records inside records have the fields of the enclosing one as parent.field.",
		Parameters: jsontext.Value(`{"type":"object","required":["data_key"],"properties":{
		"data_key":{"type":"string","description":"name of the data array, as listed"},
		"group_by":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}],"description":"field or up to 3 fields; dots lead into objects; date:year :month :day :weekday :hour; list:length; empty for the total only"},
		"filter":{"type":"object","description":"field: value pairs that must all hold, values equal in type; or field: {operator: value} with eq ne gt gte lt lte in contains starts_with matches exists not ignore_case; gt gte lt lte take a number, text, quantity, date or {field: name}; in takes an array or {data_key, field, filter}, the values of another array"},
		"any_of":{"type":"array","items":{"type":"object"},"description":"further filters, one must hold"},
		"metrics":{"type":"array","items":{"type":"string"},"description":"count (default), or sum:field avg:field min:field max:field distinct:field p50:field p95:field"},
		"having":{"type":"object","description":"conditions on groups, as in {\"count\": {\"gt\": 5}}"},
		"over_groups":{"type":"array","items":{"type":"string"},"description":"avg min max sum p50 p95 count of the groups' values"},
		"names":{"type":"object","description":"{limit, field}: names of the records that match"},
		"top":{"type":"object","description":"{by, order: desc or asc, limit}: names of the records with the extreme values of a field"},
		"share":{"type":"object","description":"{of: filter}: the share of those records that match filter; {of: {}} for all"},
		"lookup":{"type":"object","description":"{field: {data_key, field}}: finds the record of another array; its fields are then field.name"}}}`),
	}}
}

// ToolCall requests one of EstateTools.
type ToolCall struct {
	Name  string         `json:"name" doc:"inspect_schema or compute_stats"`
	Input jsontext.Value `json:"input" doc:"arguments of the function, an object"`
}
