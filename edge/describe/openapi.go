package describe

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"cairn/bus"
	"cairn/schemas"
)

// object is a JSON object.
type object = map[string]any

// document returns the OpenAPI document of the specs and adds their types to types.
func document(specs []Spec, types *schemas.Definitions, secured bool) ([]byte, error) {
	paths := object{}
	for _, r := range specs {
		item, ok := paths[r.Path].(object)
		if !ok {
			item = object{}
			paths[r.Path] = item
		}
		op, err := operation{r, types, secured}.object()
		if err != nil {
			return nil, err
		}
		item[strings.ToLower(r.Method)] = op
	}
	for _, extra := range slices.Concat(Analysis.Events, Watch.Events) {
		if _, err := types.Of(extra.Data); err != nil {
			return nil, err
		}
	}
	components := object{"schemas": types.Schemas, "parameters": headers, "headers": responseHeaders,
		"responses": object{"MethodNotAllowed": errorResponse(schemas.ErrMethodNotAllowed.Code+" "+
			schemas.ErrMethodNotAllowed.Title,
			schemas.ErrMethodNotAllowed.Status,
			object{"$ref": "#/components/schemas/Error"})}}
	security := []object{}
	if secured {
		components["securitySchemes"] = object{"bearer": bearer}
		security = append(security, object{"bearer": []string{}})
	}
	return json.Marshal(object{
		"openapi": "3.1.0",
		"info": object{"title": "Cairn", "version": bus.Version,
			"description": "Knowledge and question answering for agents."},
		"servers":    []object{{"url": "/"}},
		"paths":      paths,
		"components": components,
		"security":   security,
		"tags":       groups(specs),
	}, json.Deterministic(true))
}

var (
	headers = object{
		"RequestID": header(bus.HeaderRequestID, "identifies the request in logs; generated when absent",
			stringSchema(1, bus.MaxRequestID, "^[!-~]+$")),
		"MinRevision": header(bus.HeaderMinRevision,
			"a Cairn-Revision whose write the response must include, or a revision of the current catalog; a revision beyond the last one is rejected with 400, and a token of another catalog is ignored",
			tokenText),
		"Message": header(bus.HeaderMessage, "why the caller makes the change: one line for the history and the audit log",
			stringSchema(0, schemas.MaxMessage, "^[^\\x00-\\x1f\\x7f-\\x9f]*$")),
		"IfMatch": header(bus.HeaderIfMatch,
			"write only if the record has one of these entity tags, or * for any record; else 412",
			stringSchema(1, schemas.MaxTags, schemas.TagsPattern)),
		"IfNoneMatch": header(bus.HeaderIfNoneMatch,
			"read: 304 if the reply has one of these entity tags; write: only if the record has none of them, or * for no record; else 412",
			stringSchema(1, schemas.MaxTags, schemas.TagsPattern)),
		"LastEventID": header(HeaderLastEventID, "the id of the last event received; absent or empty: all events",
			stringSchema(0, 16, LastEventIDPattern)),
		"LastRevision": header(HeaderLastEventID,
			"the id of the last event received, a revision; absent or empty: only changes from now on",
			stringSchema(0, schemas.MaxToken, "^$|"+schemas.TokenPattern)),
	}
	responseHeaders = object{
		"RequestID": object{"description": "the id of the request in logs",
			"schema": stringSchema(1, bus.MaxRequestID, "^[!-~]+$")},
		"Run": object{"description": "the name of the analysis, used to resume or cancel it",
			"schema": stringSchema(1, 64, "^[0-9A-Za-z-]+$")},
		"Revision": object{"description": "the consistency token of the write, ID-REVISION with the ID of the catalog",
			"schema": tokenText},
		"ETag": object{"description": "the entity tag of the record or of the reply",
			"schema": stringSchema(2, schemas.MaxToken+2, schemas.TagPattern)},
		"Aliases": object{"description": "names of the aliases that were deleted with the record, separated by commas",
			"schema": stringSchema(1, 64*schemas.MaxAliases, "^[a-z0-9,-]+$")},
		"IgnoredRevision": object{"description": "the Cairn-Min-Revision of the request, which belongs to another catalog",
			"schema": tokenText},
		"Referrers": object{"description": "the first records that linked to the record, relative to /records/, separated by commas",
			"schema": stringSchema(1, 4096, "^[!-~ ]+$")},
		"ReferrerCount": object{"description": "the number of records that linked to the record; absent: none, or unknown",
			"schema": object{"type": "integer", "minimum": 1, "maximum": 1 << 53}},
		"RetryAfter": object{"description": "seconds to wait before a retry",
			"schema": object{"type": "integer", "minimum": 1, "maximum": MaxRetryAfter}},
		"Challenge": object{"description": "the authentication scheme, and with an OpenID provider the URL of the resource metadata",
			"schema": stringSchema(1, 4096, "^Bearer ")},
		"Allow": object{"description": "the methods of the path, separated by commas",
			"schema": stringSchema(1, 128, "^[A-Z]+(, [A-Z]+)*$")},
	}
	tokenText = stringSchema(1, schemas.MaxToken, schemas.TokenPattern)
)

// stringSchema returns the schema of a string with the bounds and the pattern.
func stringSchema(minimum, maximum int, pattern string) object {
	return object{"type": "string", "minLength": minimum, "maxLength": maximum, "pattern": pattern}
}

// bearer is the security scheme of all operations that are not open.
var bearer = object{
	"type": "http", "scheme": "bearer",
	"description": "An API key or a token of an OpenID provider, whose role has the permission in x-permission of the operation.",
}

func header(name, description string, schema object) object {
	return object{"name": name, "in": "header", "description": description, "schema": schema}
}

// groups returns the OpenAPI tags of the specs.
func groups(specs []Spec) []object {
	var names []string
	for _, r := range specs {
		names = append(names, r.group())
	}
	slices.Sort(names)
	var list []object
	for _, name := range slices.Compact(names) {
		list = append(list, object{"name": name})
	}
	return list
}
