package mcp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"cairn/bus"
	"cairn/schemas"
)

// The Skills extension (SEP-2640) serves each skill as a directory of files whose last
// path segment is its name. The name has at most 64 characters of [a-z0-9-], fewer than
// an id may have, so the URI contains both:
//
//	skill://cairn/network.show_vlans/network-show-vlans/SKILL.md
//	skill://cairn/network.show_vlans/network-show-vlans/scripts/check.py
const (
	skillsExtension = "io.modelcontextprotocol/skills"
	skillRoot       = "skill://cairn/"
	skillFile       = "SKILL.md"
	skillTemplate   = skillRoot + "{id}/{name}/" + skillFile
	fileTemplate    = skillRoot + "{id}/{name}/{+path}"
	mediaMarkdown   = "text/markdown"
	mediaText       = "text/plain"
	mediaBinary     = "application/octet-stream"

	// Limits of the Agent Skills specification, in characters.
	maxSkillName        = 64
	maxSkillDescription = 1024

	// skillsPage is the number of skills of a page of skills/list, each of which is resolved.
	skillsPage = 25
	// skillsTTL is the time in milliseconds for which clients may cache entries.
	skillsTTL = 60_000
)

// skillEntry is a Skill of the extension.
type skillEntry struct {
	URI         string          `json:"uri"`
	Frontmatter frontmatter     `json:"frontmatter"`
	Resources   []skillResource `json:"resources"`
}

// skillResource is a file of a skill.
type skillResource struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"`
	Size   int    `json:"size"`
}

// frontmatter is the head of a SKILL.md.
type frontmatter struct {
	Name        string            `json:"name"`
	Description string            `json:"description"`
	License     string            `json:"license,omitzero"`
	Metadata    map[string]string `json:"metadata"`
}

type listSkillsParams struct {
	sdk.ParamsBase
	Cursor string `json:"cursor,omitempty"`
}

// cacheable is the part that all results of the extension share.
type cacheable struct {
	ResultType string `json:"resultType"`
	TTL        int    `json:"ttlMs"`
	CacheScope string `json:"cacheScope"`
}

var ofTenant = cacheable{"complete", skillsTTL, scopePrivate}

type listSkillsResult struct {
	sdk.ResultBase
	cacheable
	Skills     []skillEntry `json:"skills"`
	NextCursor string       `json:"nextCursor,omitempty"`
}

type getSkillParams struct {
	sdk.ParamsBase
	URI string `json:"uri"`
}

type getSkillResult struct {
	sdk.ResultBase
	cacheable
	Skill skillEntry `json:"skill"`
}

// listSkills answers skills/list with a page of the active skills.
func listSkills(ctx context.Context, _ *sdk.ServerSession, p *listSkillsParams) (*listSkillsResult, error) {
	c, length := callerOf(ctx), skillsPage
	q := schemas.ListQuery{TenantID: tenant(c), Limit: &length}
	if p != nil {
		q.Cursor = p.Cursor
	}
	records, next, err := skillPage(c, q)
	if err != nil {
		return nil, protocolError(c, err)
	}
	result := &listSkillsResult{cacheable: ofTenant, Skills: make([]skillEntry, 0, len(records))}
	for _, record := range records {
		entry, err := listedSkill(c, record)
		switch {
		case errors.Is(err, schemas.ErrSkillNotFound): // deleted since
		case err != nil:
			return nil, protocolError(c, err)
		default:
			result.Skills = append(result.Skills, entry)
		}
	}
	if next != nil {
		result.NextCursor = *next
	}
	return result, nil
}

// listedSkill returns the entry of a skill of a listing, whose records have no
// instructions: the digest of its SKILL.md includes them.
func listedSkill(c Caller, record jsontext.Value) (skillEntry, error) {
	whole, err := readSkill(c, textOf(record, "skill_id"))
	if err != nil {
		return skillEntry{}, err
	}
	entry, _, err := describeSkill(whole)
	return entry, err
}

// listResources answers resources/list with the SKILL.md of a page of skills, for clients
// without the extension. The SDK lists resources that are the same for all clients.
func listResources(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		list, ok := r.(*sdk.ListResourcesRequest)
		if !ok {
			return next(ctx, method, r)
		}
		p := &listSkillsParams{}
		if list.Params != nil {
			p.Cursor = list.Params.Cursor
		}
		page, err := listSkills(ctx, nil, p)
		if err != nil {
			return nil, err
		}
		result := &sdk.ListResourcesResult{
			Resources: make([]*sdk.Resource, len(page.Skills)), NextCursor: page.NextCursor,
			Cacheable: sdk.Cacheable{TTLMs: skillsTTL, CacheScope: scopePrivate},
		}
		for i, s := range page.Skills {
			result.Resources[i] = &sdk.Resource{URI: s.URI, Name: s.Frontmatter.Name, Description: s.Frontmatter.Description,
				MIMEType: mediaMarkdown, Size: int64(s.Resources[0].Size)}
		}
		return result, nil
	}
}

// getSkill answers skills/get with the entry of one skill.
func getSkill(ctx context.Context, _ *sdk.ServerSession, p *getSkillParams) (*getSkillResult, error) {
	c := callerOf(ctx)
	if p == nil {
		p = &getSkillParams{}
	}
	record, file, err := findSkill(c, p.URI)
	if err == nil && file != skillFile {
		err = unknownFile(p.URI)
	}
	if err != nil {
		return nil, protocolError(c, err)
	}
	entry, _, err := describeSkill(record)
	if err != nil {
		return nil, protocolError(c, err)
	}
	return &getSkillResult{cacheable: ofTenant, Skill: entry}, nil
}

// readSkillFile answers resources/read for a file of a skill.
func readSkillFile(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	c, uri := callerOf(ctx), r.Params.URI
	record, file, err := findSkill(c, uri)
	if err != nil {
		return nil, protocolError(c, err)
	}
	if file != skillFile {
		content, err := readFile(c, record, uri, file)
		if err != nil {
			return nil, protocolError(c, err)
		}
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{content}}, nil
	}
	_, text, err := describeSkill(record)
	if err != nil {
		return nil, protocolError(c, err)
	}
	return contents(r, mediaMarkdown, string(text)), nil
}

// readFile returns the content of a resource of the skill. It reads the record in the
// scope of the skill: the tenant may have a draft with the same id.
func readFile(c Caller, record jsontext.Value, uri, file string) (*sdk.ResourceContents, error) {
	skill, err := schemas.DecodeStored[schemas.Skill](schemas.KindSkill, record)
	if err != nil {
		return nil, err
	}
	key := schemas.RecordKey{Kind: schemas.KindSkill, ID: skill.SkillID, TenantID: tenant(c), Scope: schemas.ScopeGlobal}
	if skill.TenantID != nil && *skill.TenantID != "" {
		key.Scope = schemas.ScopeTenant
	}
	found, err := send(c, bus.GetRecord, schemas.RecordAt{RecordKey: key})
	if err != nil {
		return nil, err
	}
	if skill, err = schemas.DecodeStored[schemas.Skill](schemas.KindSkill, found.Record); err != nil {
		return nil, err
	}
	at := slices.IndexFunc(skill.Resources, func(r schemas.Resource) bool { return r.Path == file })
	if at < 0 {
		return nil, unknownFile(uri)
	}
	resource := skill.Resources[at]
	content, err := resource.Content()
	if err != nil {
		return nil, err
	}
	if resource.Text != nil {
		return &sdk.ResourceContents{URI: uri, MIMEType: cmp.Or(resource.MediaType, mediaText), Text: string(content)}, nil
	}
	return &sdk.ResourceContents{URI: uri, MIMEType: cmp.Or(resource.MediaType, mediaBinary), Blob: content}, nil
}

// unknownFile returns the error for a URI that names no file of a skill.
func unknownFile(uri string) error {
	return schemas.ErrSkillNotFound.Because(fmt.Sprintf("no skill has the URI %q; skills/list has all", uri))
}

// findSkill returns the skill of the URI of a file, and the path of the file.
func findSkill(c Caller, uri string) (record jsontext.Value, file string, err error) {
	path, ok := strings.CutPrefix(uri, skillRoot)
	parts := strings.SplitN(path, "/", 3)
	if !ok || len(parts) < 3 {
		return nil, "", unknownFile(uri)
	}
	id, err := url.PathUnescape(parts[0])
	file, malformed := url.PathUnescape(parts[2])
	if err != nil || malformed != nil || id == "" || fileURI(id, file) != uri {
		return nil, "", unknownFile(uri)
	}
	record, err = readSkill(c, id)
	return record, file, err
}

// fileURI returns the URI of a file of a skill.
func fileURI(id, file string) string {
	segments := append([]string{id, skillName(id)}, strings.Split(file, "/")...)
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return skillRoot + strings.Join(segments, "/")
}

// skillName returns the name of a skill in the Agent Skills specification: its id with
// hyphens between the letters and digits. It ends in a hash where that loses more than
// punctuation and case, so that few names are the same.
func skillName(id string) string {
	var b strings.Builder
	lossy := false
	for _, r := range strings.ToLower(id) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		lossy = lossy || r > unicode.MaxASCII
	}
	name := strings.Trim(b.String(), "-")
	if name != "" && len(name) <= maxSkillName && !lossy {
		return name
	}
	sum := sha256.Sum256([]byte(id))
	suffix := hex.EncodeToString(sum[:4])
	name = strings.Trim(name[:min(len(name), maxSkillName-len(suffix)-1)], "-")
	return strings.TrimPrefix(name+"-"+suffix, "-")
}

// describeSkill returns the entry of a skill record and its SKILL.md.
func describeSkill(record jsontext.Value) (skillEntry, []byte, error) {
	skill, err := schemas.DecodeStored[schemas.Skill](schemas.KindSkill, record)
	if err != nil {
		return skillEntry{}, nil, err
	}
	head := frontmatter{skillName(skill.SkillID), skillDescription(skill), oneLine(skill.License), skillMetadata(skill)}
	text, err := skillMarkdown(skill, head)
	if err != nil {
		return skillEntry{}, nil, err
	}
	uri := fileURI(skill.SkillID, skillFile)
	files := []skillResource{{uri, digestPrefix + schemas.Digest(text), len(text)}}
	for _, r := range skill.Resources {
		if r.Path != skillFile && r.SHA256 != "" && r.Size != nil {
			files = append(files, skillResource{fileURI(skill.SkillID, r.Path), digestPrefix + r.SHA256, *r.Size})
		}
	}
	return skillEntry{uri, head, files}, text, nil
}

const digestPrefix = "sha256:"

// skillMetadata returns the metadata of the frontmatter. The labels are a selector.
func skillMetadata(s schemas.Skill) map[string]string {
	m := map[string]string{"skill_id": s.SkillID}
	if s.Version != "" {
		m["version"] = s.Version
	}
	if len(s.Labels) > 0 {
		m["labels"] = oneLine(strings.Join(schemas.LabelTerms(s.Labels), ","))
	}
	return m
}

// skillDescription returns the description of the frontmatter, on one line.
func skillDescription(s schemas.Skill) string {
	var parts []string
	for _, part := range []string{s.Purpose, s.Description} {
		if part = oneLine(part); part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 2 && !strings.ContainsAny(parts[0][len(parts[0])-1:], ".!?:;,") {
		parts[0] += "."
	}
	text := cmp.Or(strings.Join(parts, " "), oneLine(s.DisplayName), s.SkillID)
	if utf8.RuneCountInString(text) > maxSkillDescription {
		text = string([]rune(text)[:maxSkillDescription-1]) + "…"
	}
	return text
}

// oneLine replaces white space and characters that YAML forbids by single spaces.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) }), " ")
}

// skillMarkdown renders a skill record as SKILL.md. Values of the frontmatter are JSON
// strings, which all YAML parsers read alike.
func skillMarkdown(s schemas.Skill, head frontmatter) ([]byte, error) {
	lines := [][2]string{{"name", head.Name}, {"description", head.Description}}
	if head.License != "" {
		lines = append(lines, [2]string{"license", head.License})
	}
	lines = append(lines, [2]string{"metadata", ""})
	for _, name := range slices.Sorted(maps.Keys(head.Metadata)) {
		lines = append(lines, [2]string{"  " + name, head.Metadata[name]})
	}
	var b strings.Builder
	b.WriteString("---\n")
	for _, line := range lines {
		if line[1] == "" {
			b.WriteString(line[0] + ":\n")
			continue
		}
		quoted, err := jsontext.AppendQuote(nil, line[1])
		if err != nil {
			return nil, err
		}
		b.WriteString(line[0] + ": " + string(quoted) + "\n")
	}
	b.WriteString("---\n")
	if strings.TrimSpace(s.Instructions) != "" {
		b.WriteString("\n" + strings.Trim(s.Instructions, "\r\n") + "\n")
	} else {
		b.WriteString("\n# " + oneLine(cmp.Or(s.DisplayName, s.SkillID)) + "\n")
		paragraphs(&b, s.Purpose, s.Description)
		bullets(&b, "Capabilities", s.Capabilities)
		bullets(&b, "Example queries", s.ExampleQueries)
	}
	b.WriteString("\n## Package\n\nThe context, tools, guardrails and output template of this skill: call the tool `resolve_skill` " +
		"of this server with the `skill_id` " + code(s.SkillID) + ".\n")
	return []byte(b.String()), nil
}
