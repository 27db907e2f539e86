package mcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"cairn/bus"
	"cairn/schemas"
	"cairn/schemas/member"
)

// tool is a tool of the protocol.
type tool struct {
	name, title, description string

	needs         schemas.Permission
	input, output *jsonschema.Schema
	// run returns the structured content and its text.
	run func(context.Context, call) (reply []byte, text string, err error)
}

// call is a call of a tool.
type call struct {
	caller   Caller
	args     []byte                    // a JSON object with known members
	given    map[string]jsontext.Value // the members, parts of args
	progress func(n int, step string)  // reports the n-th step
}

// withoutEstate returns the arguments besides the estate, which is not copied.
func (c call) withoutEstate() ([]byte, error) {
	rest := maps.Clone(c.given)
	delete(rest, estateName)
	return json.Marshal(rest, json.Deterministic(true))
}

// tools returns all tools.
func tools() ([]tool, error) {
	var failed error
	must := func(t tool, err error) tool {
		failed = errors.Join(failed, err)
		return t
	}
	const read, analyze = schemas.PermissionRead, schemas.PermissionAnalyze
	list := []tool{
		searchOnly(must(translate[schemas.SkillQuery](tool{
			name: "search_skills", title: "Search skills", needs: read,
			description: "Find the skills that match the description of a task, best first, each with a score from 0 to 1. " +
				"Then call resolve_skill with the id of a hit.",
		}, bus.ResolveSkill.Forward, hits))),
		must(translate[schemas.SkillRef](tool{
			name: "resolve_skill", title: "Resolve a skill", needs: read,
			description: "The package of a skill: its record with the context builders, tools, guardrails and template that " +
				"serve it.",
		}, bus.ResolveSkill.Forward, skillPackage)),
		must(translate[schemas.AgentQuery](tool{
			name: "resolve_agent", title: "Resolve an agent", needs: read,
			description: "The agent whose capabilities match the description of a task best, and the skills it owns.",
		}, bus.ResolveAgent.Forward, agent)),
		must(translate[schemas.ContextQuery](tool{
			name: "resolve_context", title: "Resolve context", needs: read,
			description: "The context builders of a skill: the instructions that a model needs for it.",
		}, bus.ResolveContext.Forward, contextBuilders)),
		must(translate[schemas.ToolsQuery](tool{
			name: "resolve_tools", title: "Resolve tools", needs: read,
			description: "Tool records by id, and the ids that do not exist.",
		}, bus.ResolveTools.Forward, toolRecords)),
		must(translate[schemas.RecordSearch, schemas.RecordHits](tool{
			name: "search_records", title: "Search records", needs: read,
			description: "Find the skills, agents and tools that match the description of a task, of the tenant and " +
				"global ones, best first. kinds selects some of them, or guardrails and templates.",
		}, bus.SearchRecords.Forward, nil)),
		must(translate[schemas.RecordAt, schemas.Nothing](tool{ // the reply is a record of any kind
			name: "get_record", title: "Get a record", needs: read,
			description: "A record as it was registered, or with revision an earlier one of record_history.",
		}, bus.GetRecord.Forward, nil)),
		must(translate[schemas.RecordKey, schemas.RecordHistory](tool{
			name: "record_history", title: "History of a record", needs: read,
			description: "The retained revisions of a record, newest first: when each was stored, its version and its status. " +
				"get_record returns one of them.",
		}, bus.RecordHistory.Forward, nil)),
		must(translate[schemas.TagQuery, schemas.TagList](tool{
			name: "list_tags", title: "List tags", needs: read,
			description: "The requests that have a tag, the earliest first, with creation, expiry and size, without values.",
		}, bus.ListTags.Forward, nil)),
		must(translate[schemas.TagKey, schemas.TagFound](tool{
			name: "read_tag", title: "Read a tag", needs: read, description: "The tag of a request: its flow and values.",
		}, bus.ReadTag.Forward, nil)),
		must(translate[schemas.TagWrite, schemas.TagWritten](tool{
			name: "write_tag", title: "Write a tag", needs: schemas.PermissionTag,
			description: "Store the tag of a request, once: it cannot change until it is deleted or expires.",
		}, bus.WriteTag.Forward, nil)),
		must(translate[schemas.TagKey, schemas.Nothing](tool{
			name: "delete_tag", title: "Delete a tag", needs: schemas.PermissionTag,
			description: "Delete the tag of a request; succeeds if there is none.",
		}, bus.DeleteTag.Forward, nil)),
		must(askEstate(analyze)), must(inspectSchema(analyze)), must(computeStats(analyze)),
		must(registration(schemas.KindSkill, bus.RegisterSkill)),
		must(registration(schemas.KindAgent, bus.RegisterAgent)),
		must(registration(schemas.KindTool, bus.RegisterTool)),
		must(registration(schemas.KindContextBuilder, bus.RegisterContextBuilder)),
		must(registration(schemas.KindGuardrail, bus.RegisterGuardrail)),
		must(registration(schemas.KindTemplate, bus.RegisterTemplate)),
	}
	return list, failed
}

// registration returns the tool that registers records of a kind.
func registration[Req, Res any](kind string, e bus.Endpoint[Req, Res]) (tool, error) {
	forward := func(ctx context.Context, c *bus.Conn, body []byte) (bus.Reply, error) {
		with, err := member.Append(body, member.Member{Name: "return_warnings", Value: true})
		if err != nil {
			with = body // the worker rejects it
		}
		return e.Forward(ctx, c, with)
	}
	t, err := translate[Req, Res](tool{
		name: "register_" + kind, title: e.Summary, needs: e.Permission,
		description: e.Summary + ": one record, in place of the one with its id and tenant.",
	}, forward, nil)
	if t.input != nil {
		delete(t.input.Properties, "return_warnings")
	}
	return t, err
}

// translate completes a tool that sends its arguments, an In, to an endpoint. text renders the reply; nil: as JSON.
func translate[In, Out any](t tool, f Forward, text func(Out) string) (tool, error) {
	var err error
	if t.input, err = schemaOf(reflect.TypeFor[In]()); err != nil {
		return t, err
	}
	inline(t.input)
	t.run = func(_ context.Context, c call) ([]byte, string, error) {
		body, err := withTenant(c, t.input)
		if err != nil {
			return nil, "", err
		}
		reply, err := c.caller.Send(f, body)
		if err != nil || text == nil {
			return reply, string(reply), err
		}
		var out Out
		if err := json.Unmarshal(reply, &out); err != nil {
			return nil, "", err
		}
		return reply, text(out), nil
	}
	t.output, err = schemaOf(reflect.TypeFor[Out]())
	return t, err
}

// searchOnly removes the direct form from the arguments of a search.
func searchOnly(t tool) tool {
	if t.input != nil {
		delete(t.input.Properties, "skill_id")
		t.input.If, t.input.Then, t.input.Required = nil, nil, []string{"query"}
		t.input.Properties["query"].Description = "description of the wanted capability, or of the task"
	}
	return t
}

// schemaOf returns the JSON Schema of the struct t, of type object.
func schemaOf(t reflect.Type) (*jsonschema.Schema, error) {
	d := schemas.NewDefinitions("#/$defs/")
	if _, err := d.Of(t); err != nil {
		return nil, err
	}
	root := *d.Schemas[t.Name()]
	delete(d.Schemas, t.Name())
	root.Type, root.Defs, root.Properties = "object", d.Schemas, maps.Clone(root.Properties)
	return &root, nil
}

// inline replaces references in the arguments' schema with their definitions, which are not
// recursive. Some clients and models do not resolve references and send a record as text.
func inline(s *jsonschema.Schema) {
	expand(s, s.Defs)
	s.Defs = nil
}

func expand(s *jsonschema.Schema, definitions map[string]*jsonschema.Schema) {
	for name, p := range s.Properties {
		s.Properties[name] = expanded(p, definitions)
	}
	if s.Items != nil {
		s.Items = expanded(s.Items, definitions)
	}
}

// expanded returns a copy of s without references.
func expanded(s *jsonschema.Schema, definitions map[string]*jsonschema.Schema) *jsonschema.Schema {
	c := *s
	if d := definitions[strings.TrimPrefix(s.Ref, "#/$defs/")]; d != nil {
		c = *d
		c.Description = s.Description
	}
	c.Properties = maps.Clone(c.Properties)
	expand(&c, definitions)
	return &c
}

// withTenant returns the arguments with the tenant of the connection, unless they name one.
func withTenant(c call, input *jsonschema.Schema) ([]byte, error) {
	tenant := c.caller.Tenant()
	if tenant == "" {
		return c.args, nil
	}
	own := member.Member{Name: "tenant_id", Value: tenant}
	if input.Properties[own.Name] != nil {
		return member.Default(c.args, own)
	}
	args := maps.Clone(c.given)
	for _, kind := range schemas.Kinds() {
		name := schemas.Wrapper(kind)
		if record := args[name]; record.Kind() == jsontext.KindBeginObject && !has(record, own.Name) {
			changed, err := member.Prepend(record, own)
			if err != nil {
				return nil, err
			}
			args[name] = changed
		}
	}
	return json.Marshal(args)
}

func has(object jsontext.Value, name string) bool {
	for member := range membersOf(object) {
		if member == name {
			return true
		}
	}
	return false
}

// declaration returns the tool for tools/list, with encoded schemas: the SDK would encode them by reflection for
// every list.
func (t tool) declaration() (*sdk.Tool, error) {
	input, err := json.Marshal(portable(t.input, false))
	if err != nil {
		return nil, err
	}
	output, err := json.Marshal(portable(t.output, true))
	writes := t.needs == schemas.PermissionRegister || t.needs == schemas.PermissionTag
	return &sdk.Tool{
		Name: t.name, Title: t.title, Description: t.description, InputSchema: jsontext.Value(input),
		OutputSchema: jsontext.Value(output),
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: !writes, IdempotentHint: true, DestructiveHint: &writes,
			OpenWorldHint: new(false)},
	}, err
}

// handle runs the tool. Its errors are results, from which a model can correct its call.
func (t tool) handle(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	c := call{caller: callerOf(ctx), args: r.Params.Arguments, progress: progressOf(ctx, r)}
	if arguments, ok := ctx.Value(argumentsKey{}).(jsontext.Value); ok && arguments != nil {
		c.args = arguments
	}
	if len(c.args) == 0 {
		c.args = []byte("{}")
	}
	var reply []byte
	text := ""
	var err error
	if c.given, err = t.known(c.args); err == nil {
		reply, text, err = t.run(ctx, c)
	}
	if err != nil {
		e := c.caller.PublicError(err)
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{
			Text: fmt.Sprintf("%s (request_id %s)", e.Error(), e.RequestID)}}}, nil
	}
	return &sdk.CallToolResult{
		Content: []sdk.Content{&sdk.TextContent{Text: text}}, StructuredContent: jsontext.Value(reply),
	}, nil
}

// maxUnknown is the number of unknown arguments that an error lists.
const maxUnknown = 10

// known returns the arguments, which are parts of args, or schemas.ErrMalformed with those that are
// unknown, missing or too large. Models misspell names, and an ignored argument would change the
// result. The worker checks the values.
func (t tool) known(args []byte) (map[string]jsontext.Value, error) {
	if kind := jsontext.Value(args).Kind(); kind != jsontext.KindBeginObject {
		return nil, schemas.ErrMalformed.With(schemas.FieldError{Field: "arguments", Message: "expected an object"})
	}
	given, size := map[string]jsontext.Value{}, 0
	var wrong []schemas.FieldError
	for name, value := range membersOf(args) {
		if t.input.Properties[name] == nil {
			if len(wrong) < maxUnknown {
				expected := strings.Join(slices.Sorted(maps.Keys(t.input.Properties)), ", ")
				wrong = append(wrong, schemas.FieldError{Field: name, Message: "unknown argument; expected one of: " + expected})
			}
			continue
		}
		given[name] = value
		if name == estateName {
			continue
		}
		if size += len(value); size > bus.MaxBody {
			return nil, schemas.ErrMalformed.With(schemas.FieldError{
				Field: name, Message: fmt.Sprintf("expected at most %d bytes of arguments besides %s", bus.MaxBody, estateName),
			})
		}
	}
	for _, name := range t.input.Required {
		if given[name] == nil {
			wrong = append(wrong, schemas.FieldError{Field: name, Message: "required"})
		}
	}
	if len(wrong) > 0 {
		return nil, schemas.ErrMalformed.With(wrong...)
	}
	return given, nil
}

// maxProgress bounds the text of a progress notification in bytes.
const maxProgress = 300

// progressOf returns a function that sends progress notifications if the client wants them.
func progressOf(ctx context.Context, r *sdk.CallToolRequest) func(int, string) {
	token := r.Params.GetProgressToken()
	if token == nil {
		return func(int, string) {}
	}
	return func(n int, step string) {
		if len(step) > maxProgress {
			step = strings.ToValidUTF8(step[:maxProgress], "") + "…"
		}
		// The result carries an error of the connection too.
		_ = r.Session.NotifyProgress(ctx,
			&sdk.ProgressNotificationParams{ProgressToken: token, Progress: float64(n), Message: step})
	}
}
