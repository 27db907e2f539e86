package mcp

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"

	"cairn/schemas"
	"cairn/schemas/member"
)

// EstateQuestion is the arguments of ask_estate.
type EstateQuestion struct {
	Query  string         `json:"query" doc:"the question"`
	Estate jsontext.Value `json:"estate"`
	Mode   string         `json:"mode,omitzero" doc:"standard (default), or broad for facts only"`
}

// EstateAnswer is the reply of ask_estate.
type EstateAnswer struct {
	Answer     string              `json:"answer" doc:"Markdown"`
	ToolCalls  []EstateCall        `json:"tool_calls" doc:"the calls that computed the figures"`
	Provenance *schemas.Provenance `json:"provenance,omitzero" doc:"the tool result that each figure of the answer comes from"`
	Usage      *schemas.Usage      `json:"usage,omitzero"`
	Degraded   string              `json:"degraded,omitzero" doc:"reason why the answer was not rendered"`
}

// EstateCall is a tool call of an analysis, with its result.
type EstateCall struct {
	schemas.ToolUse
	Result jsontext.Value `json:"result"`
}

// askEstate returns the tool that answers a question about an estate.
func askEstate(needs schemas.Permission) (tool, error) {
	input, err := schemaOf(reflect.TypeFor[EstateQuestion]())
	if err != nil {
		return tool{}, err
	}
	input.Properties["mode"].Enum = []any{schemas.ModeStandard, schemas.ModeBroad}
	input.Properties[estateName] = &estateArgument
	output, err := schemaOf(reflect.TypeFor[EstateAnswer]())
	if err != nil {
		return tool{}, err
	}
	output.Defs["EstateCall"].Properties["result"].Types = []string{"null", "object"}
	run := func(ctx context.Context, c call) ([]byte, string, error) {
		rest, err := c.withoutEstate()
		if err != nil {
			return nil, "", err
		}
		question, err := schemas.Read[EstateQuestion](rest, schemas.ErrAnalysisMalformed)
		if err != nil {
			return nil, "", err
		}
		answer, err := analyze(ctx, c, c.given[estateName], schemas.Analysis{
			Query: question.Query, Mode: question.Mode, Include: []string{schemas.EventProvenance, schemas.EventUsage},
		})
		if err != nil {
			return nil, "", err
		}
		reply, err := json.Marshal(answer)
		return reply, answer.text(), err
	}
	return tool{"ask_estate", "Ask a question about an estate",
		"Answer a question about a JSON document of up to 10 MiB. Every figure of the answer is computed from the document; " +
			"provenance names the source of each.",
		needs, input, output, run}, nil
}

// text returns the answer, and the figures for which no source was found.
func (a EstateAnswer) text() string {
	var flagged []string
	if a.Provenance != nil {
		for _, f := range a.Provenance.Figures {
			if f.Flagged {
				flagged = append(flagged, f.Text)
			}
		}
	}
	if len(flagged) == 0 {
		return a.Answer
	}
	return a.Answer + "\n\nNo source was found in the document for: " + strings.Join(flagged, ", ")
}

// estateArgument describes the estate among the arguments of a tool. It is also accepted as a value; portable
// schemas have one type.
var estateArgument = jsonschema.Schema{
	Type: "string",
	Description: "the JSON document as text: an object or array with arrays of records; the object or array itself is " +
		"accepted too",
}

// inspectSchema returns the tool that describes an array of an estate.
func inspectSchema(needs schemas.Permission) (tool, error) {
	t, err := estateTool(schemas.ToolInspectSchema, "Inspect an array of an estate", needs, `{"type":"object","properties":{
		"fields":{"type":"array","items":{"type":"string"},"description":"dotted paths"},
		"count":{"type":"integer","description":"number of records"},
		"sample":{"type":"object","description":"the first record, abbreviated"},
		"details":{"type":"array","items":{"type":"object"},"description":"the fields with type, share of records, number of values and values"},
		"arrays":{"type":"array","items":{"type":"object"},"description":"arrays inside the records, or of the estate, with their counts"},
		"references":{"type":"array","items":{"type":"object"},"description":"fields whose values name records of another array"},
		"name_field":{"type":"string","description":"the field that names the records"},
		"available":{"type":"array","items":{"type":"string"},"description":"without data_key: the arrays of the estate"},
		"note":{"type":"string","description":"why the estate has no arrays"}}}`)
	if err != nil {
		return t, err
	}
	t.description += " Without data_key it lists the arrays."
	t.input.Required = []string{estateName}
	return t, nil
}

// computeStats returns the tool that computes figures over an array of an estate.
func computeStats(needs schemas.Permission) (tool, error) {
	t, err := estateTool(schemas.ToolComputeStats, "Compute figures of an estate", needs, `{"type":"object",
		"required":["groups","total"],"properties":{
		"groups":{"type":"object","description":"the first metric by group"},
		"total":{"type":["number","null"],"description":"the first metric over all records that match"},
		"unit":{"type":"string","description":"of groups and total"},
		"metrics":{"type":"object","description":"further metrics by name"},
		"rows":{"type":"array","items":{"type":"object"},"description":"groups by several fields: {by, value, metrics}"},
		"group_count":{"type":"integer"},
		"over_groups":{"type":"object","description":"figures over the groups"},
		"names":{"type":"array","items":{"type":"object"},"description":"records that match: {name, value}"},
		"names_unit":{"type":"string"},
		"more_names":{"type":"integer"},
		"share":{"type":"object","description":"{records, of, percent}"},
		"matched":{"type":"integer","description":"records that match the filter"},
		"records":{"type":"integer","description":"records of the array"},
		"coverage":{"type":"object","description":"null, missing and skipped values of the fields of groups and metrics"},
		"truncated":{"type":"boolean","description":"only the largest groups are included"},
		"note":{"type":"string"}}}`)
	if err != nil {
		return t, err
	}
	groups := t.input.Properties["group_by"] // one field is accepted as text too
	groups.Type, groups.Items = "array", &jsonschema.Schema{Type: "string"}
	return t, nil
}

const (
	estateName = "estate"
	dataKey    = "data_key"
)

// estateTool returns the tool that runs one function on an estate, without a model.
func estateTool(name, title string, needs schemas.Permission, output string) (tool, error) {
	for _, declared := range schemas.EstateTools() {
		if declared.Name != name {
			continue
		}
		t := tool{name: name, title: title, description: declared.Description, needs: needs}
		if err := json.Unmarshal(declared.Parameters, &t.input); err != nil {
			return t, err
		}
		t.input.Properties[estateName] = &estateArgument
		t.input.Required = append(t.input.Required, estateName)
		t.run = func(ctx context.Context, c call) ([]byte, string, error) { return runEstateTool(ctx, c, name) }
		return t, json.Unmarshal([]byte(output), &t.output)
	}
	return tool{}, fmt.Errorf("unknown function %q", name)
}

func runEstateTool(ctx context.Context, c call, name string) ([]byte, string, error) {
	input, err := c.withoutEstate()
	if err != nil {
		return nil, "", err
	}
	if name == schemas.ToolInspectSchema && c.given[dataKey] == nil {
		input = []byte(`{"data_key":""}`)
	}
	answer, err := analyze(ctx, c, c.given[estateName],
		schemas.Analysis{Calls: []schemas.ToolCall{{Name: name, Input: input}}})
	if err != nil {
		return nil, "", err
	}
	if len(answer.ToolCalls) == 0 {
		return nil, "", schemas.ErrInternal.Because("the analysis returned no result")
	}
	result := answer.ToolCalls[0].Result
	var failed struct {
		Error     string   `json:"error"`
		Available []string `json:"available"`
	}
	if err := json.Unmarshal(result, &failed); err != nil {
		return nil, "", err
	}
	switch {
	case failed.Error == "":
	case len(failed.Available) > 0:
		return nil, "", schemas.ErrAnalysisMalformed.Because(failed.Error + "; available: " +
			strings.Join(failed.Available, ", "))
	default:
		return nil, "", schemas.ErrAnalysisMalformed.Because(failed.Error)
	}
	return result, string(result), nil
}

// analyze runs the analysis on the estate and collects its events.
func analyze(ctx context.Context, c call, estate jsontext.Value, question schemas.Analysis) (EstateAnswer, error) {
	answer := EstateAnswer{ToolCalls: []EstateCall{}}
	body, err := analysisBody(estate, question)
	if err != nil {
		return answer, err
	}
	var text strings.Builder
	for event, err := range c.caller.Analyze(ctx, body) {
		if err != nil {
			return answer, err
		}
		if err := answer.add(event.Type, event.Data, &text); err != nil {
			return answer, err
		}
		if event.Type == schemas.EventToolUse {
			use := answer.ToolCalls[len(answer.ToolCalls)-1]
			c.progress(len(answer.ToolCalls), use.Name+" "+string(use.Input))
		}
	}
	if answer.Answer == "" {
		answer.Answer = text.String()
	}
	return answer, nil
}

// analysisBody returns the request for an analysis of the estate.
func analysisBody(estate jsontext.Value, question schemas.Analysis) ([]byte, error) {
	question.Target, question.Context = schemas.TargetH, "-"
	body, err := json.Marshal(question)
	if err != nil {
		return nil, err
	}
	text := estate
	if estate.Kind() != jsontext.KindString {
		if text, err = jsontext.AppendQuote(nil, []byte(estate)); err != nil {
			return nil, err
		}
	}
	return member.Append(body, member.Member{Name: "context", Value: text})
}

// add adds an event to the answer; text collects its text deltas.
func (a *EstateAnswer) add(kind string, data []byte, text *strings.Builder) error {
	switch kind {
	case schemas.EventTextDelta:
		var delta schemas.TextDelta
		if err := json.Unmarshal(data, &delta); err != nil {
			return err
		}
		text.WriteString(delta.Text)
	case schemas.EventToolUse:
		text.Reset() // text before a tool call is not the answer
		a.ToolCalls = append(a.ToolCalls, EstateCall{})
		return json.Unmarshal(data, &a.ToolCalls[len(a.ToolCalls)-1].ToolUse)
	case schemas.EventToolResult:
		var result schemas.ToolResult
		if err := json.Unmarshal(data, &result); err != nil {
			return err
		}
		index := slices.IndexFunc(a.ToolCalls, func(c EstateCall) bool { return c.ToolCallID == result.ToolCallID })
		if index < 0 {
			return fmt.Errorf("a worker sent the result of the unknown tool call %.100q", result.ToolCallID)
		}
		a.ToolCalls[index].Result = result.Result
	case schemas.EventDirectResponse:
		var direct schemas.DirectResponse
		if err := json.Unmarshal(data, &direct); err != nil {
			return err
		}
		a.Answer, a.Degraded = direct.Text, direct.Reason
	case schemas.EventProvenance:
		return json.Unmarshal(data, &a.Provenance)
	case schemas.EventUsage:
		return json.Unmarshal(data, &a.Usage)
	case schemas.EventError:
		var failed schemas.StreamError
		if err := json.Unmarshal(data, &failed); err != nil {
			return err
		}
		return failed.Err()
	}
	return nil
}
