package mcp

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"cairn/bus"
	"cairn/schemas"
	"cairn/schemas/skillfile"
)

const (
	recordScheme   = "cairn://"
	recordTemplate = recordScheme + "{kind}/{id}"
	mediaJSON      = "application/json"
)

// addResources adds the templates of records and skills.
func addResources(s *sdk.Server) {
	s.AddResourceTemplate(&sdk.ResourceTemplate{
		URITemplate: recordTemplate, Name: "record", Title: "Record", MIMEType: mediaJSON,
		Description: "A record as it was registered. kind is one of " + strings.Join(schemas.Kinds(), ", ") + ".",
	}, readRecord)
	s.AddResourceTemplate(&sdk.ResourceTemplate{
		URITemplate: skillTemplate, Name: "skill", Title: "Skill", MIMEType: mediaMarkdown,
		Description: "A skill as SKILL.md. skills/list has the URIs.",
	}, readSkillFile)
	s.AddResourceTemplate(&sdk.ResourceTemplate{
		URITemplate: fileTemplate, Name: "skill_file", Title: "File of a skill",
		Description: "A file of a skill. skills/list has the URIs.",
	}, readSkillFile)
}

// escape percent-encodes a segment of a URI as the expansion of a URI template (RFC 6570) does,
// which is the only spelling that the SDK matches: url.PathEscape leaves $&+=:@ as they are.
func escape(segment string) string { return strings.ReplaceAll(url.QueryEscape(segment), "+", "%20") }

// canonicalURI returns the URI with each segment in the spelling of escape. It does not change a
// malformed URI.
func canonicalURI(uri string) string {
	scheme, path, ok := strings.Cut(uri, "://")
	if !ok {
		return uri
	}
	segments := strings.Split(path, "/")
	for i, s := range segments {
		plain, err := url.PathUnescape(s)
		if err != nil {
			return uri
		}
		segments[i] = escape(plain)
	}
	return scheme + "://" + strings.Join(segments, "/")
}

// errNoResource is the error for a URI that names no resource.
var errNoResource = schemas.ErrMalformed.Because("no such resource")

// readRecord answers resources/read for cairn://{kind}/{id}.
func readRecord(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	c := callerOf(ctx)
	kind, escaped, _ := strings.Cut(strings.TrimPrefix(r.Params.URI, recordScheme), "/")
	id, err := url.PathUnescape(escaped)
	if err != nil || !schemas.KnownKind(kind) {
		return nil, protocolError(c, errNoResource)
	}
	record, err := send(c, bus.GetRecord,
		schemas.RecordAt{RecordKey: schemas.RecordKey{Kind: kind, ID: id, TenantID: tenant(c)}})
	if err != nil {
		return nil, protocolError(c, err)
	}
	return contents(r, mediaJSON, string(record.Record)), nil
}

func contents(r *sdk.ReadResourceRequest, media, text string) *sdk.ReadResourceResult {
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: media, Text: text}}}
}

// send calls the endpoint in the tenant of the connection.
func send[Req, Res any](c Caller, e bus.Endpoint[Req, Res], req Req) (res Res, err error) {
	body, err := json.Marshal(req)
	if err != nil {
		return res, err
	}
	reply, err := c.Send(e.Forward, body)
	if err != nil {
		return res, err
	}
	return res, json.Unmarshal(reply, &res)
}

// tenant returns the tenant of the connection, or nil for the tenant of the credential.
func tenant(c Caller) *string { return schemas.Optional(c.Tenant()) }

func inTenant(c Caller) schemas.QueryOptions { return schemas.QueryOptions{TenantID: tenant(c)} }

// readSkill returns the record of a skill, and the size of the package that contains it.
func readSkill(c Caller, id string) (record jsontext.Value, size int, err error) {
	body, err := json.Marshal(schemas.SkillQuery{SkillID: id, QueryOptions: inTenant(c)})
	if err != nil {
		return nil, 0, err
	}
	reply, err := c.Send(bus.ResolveSkill.Forward, body)
	if err != nil {
		return nil, 0, err
	}
	var p struct {
		Manifest jsontext.Value `json:"manifest"`
	}
	return p.Manifest, len(reply), json.Unmarshal(reply, &p)
}

// textOf returns a text of a record.
func textOf(record jsontext.Value, field string) (text string) {
	var members map[string]jsontext.Value
	if json.Unmarshal(record, &members) == nil {
		_ = json.Unmarshal(members[field], &text) // registered records have a string
	}
	return text
}

const maxCompletions = 100 // of the protocol

// complete answers completion/complete for the parameters of the resource templates.
func complete(ctx context.Context, r *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	c, p := callerOf(ctx), r.Params
	kind := ""
	switch {
	case p.Ref.URI == recordTemplate && p.Argument.Name == "kind":
		return completed(matching(schemas.Kinds(), p.Argument.Value), false), nil
	case p.Ref.URI == recordTemplate && p.Argument.Name == "id" && p.Context != nil:
		kind = p.Context.Arguments["kind"]
	case ofSkill(p.Ref.URI) && p.Argument.Name == "id":
		kind = schemas.KindSkill
	case ofSkill(p.Ref.URI) && p.Argument.Name == "name" && p.Context != nil:
		return completed(matching(nameOf(c, p.Context.Arguments["id"]), p.Argument.Value), false), nil
	}
	if !schemas.KnownKind(kind) {
		return completed(nil, false), nil
	}
	ids, incomplete, err := idsWith(c, kind, p.Argument.Value, ofSkill(p.Ref.URI))
	if err != nil {
		return nil, protocolError(c, err)
	}
	return completed(ids, incomplete), nil
}

// nameOf returns the name of the skill, if there is one.
func nameOf(c Caller, id string) []string {
	record, _, err := readSkill(c, id)
	if err != nil {
		return nil
	}
	return []string{skillfile.NameOf(id, record)}
}

func ofSkill(template string) bool { return template == skillTemplate || template == fileTemplate }

func completed(values []string, incomplete bool) *sdk.CompleteResult {
	if values == nil {
		values = []string{}
	}
	return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: values, HasMore: incomplete}}
}

func matching(values []string, prefix string) []string {
	return slices.DeleteFunc(values, func(v string) bool { return !strings.HasPrefix(v, prefix) })
}

// idsWith returns the ids of the kind with the prefix, in order, and whether there may be
// more. With active, it omits drafts and retired records.
func idsWith(c Caller, kind, prefix string, active bool) (ids []string, incomplete bool, err error) {
	page, err := send(c, bus.ListRecords,
		schemas.RecordQuery{Kind: kind, TenantID: tenant(c), Prefix: prefix, Limit: new(maxCompletions)})
	if err != nil {
		return nil, false, err
	}
	for _, record := range page.Records {
		if !active || schemas.Searchable(textOf(record, "status")) {
			ids = append(ids, textOf(record, kind+"_id"))
		}
	}
	return ids, page.NextCursor != nil, nil
}
