package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"cairn/bus"
	"cairn/schemas"
	"cairn/schemas/skillfile"
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
	skillFile       = skillfile.FileName
	skillTemplate   = skillRoot + "{id}/{name}/" + skillFile
	fileTemplate    = skillRoot + "{id}/{name}/{+path}"
	mediaMarkdown   = "text/markdown"
	mediaText       = "text/plain"
	mediaBinary     = "application/octet-stream"

	// skillsPage is the page size of skills/list. Each skill of a page is resolved.
	skillsPage = 25
	// skillsBytes ends a page of skills/list before its limit, when the packages of its skills have as many bytes.
	skillsBytes = 1 << 20
	// skillsTTL is the time in milliseconds for which clients may cache entries.
	skillsTTL = 60_000
)

// skillEntry is a Skill of the extension.
type skillEntry struct {
	URI         string                `json:"uri"`
	Frontmatter skillfile.Frontmatter `json:"frontmatter"`
	Resources   []skillResource       `json:"resources"`
}

// skillResource is a file of a skill.
type skillResource struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"`
	Size   int    `json:"size"`

	MediaType string `json:"-"`
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

// listSkills answers skills/list with a page of the active skills, fewer than skillsPage if their packages have
// skillsBytes.
func listSkills(ctx context.Context, _ *sdk.ServerSession, p *listSkillsParams) (*listSkillsResult, error) {
	c := callerOf(ctx)
	q := schemas.ListQuery{TenantID: tenant(c), Limit: new(skillsPage)}
	if p != nil {
		q.Cursor = p.Cursor
	}
	page, err := send(c, bus.ListSkills, q)
	if err != nil {
		return nil, protocolError(c, err)
	}
	result := &listSkillsResult{cacheable: ofTenant, Skills: make([]skillEntry, 0, len(page.Skills))}
	size := 0
	for i, record := range page.Skills {
		id := textOf(record, "skill_id")
		entry, n, err := listedSkill(c, id)
		switch {
		case errors.Is(err, schemas.ErrSkillNotFound): // deleted since
		case err != nil:
			return nil, protocolError(c, err)
		default:
			result.Skills = append(result.Skills, entry)
		}
		if size += n; size >= skillsBytes && i < len(page.Skills)-1 {
			page.NextCursor = schemas.Cursor{Global: textOf(record, "tenant_id") == ""}.Next(id)
			break
		}
	}
	result.NextCursor = schemas.ValueOr(page.NextCursor, "")
	return result, nil
}

// listedSkill returns the entry of a skill of a listing, whose records have no
// instructions: the digest of its SKILL.md includes them. It also returns the size of the package.
func listedSkill(c Caller, id string) (entry skillEntry, size int, err error) {
	skill, size, err := readSkill(c, id)
	if err == nil {
		entry, _, err = describeFor(c, skill)
	}
	return entry, size, err
}

// listResources answers resources/list with the SKILL.md of a page of skills, for clients
// without the extension. The SDK lists resources that are the same for all clients.
func listResources(ctx context.Context, list *sdk.ListResourcesParams) (sdk.Result, error) {
	p := &listSkillsParams{}
	if list != nil {
		p.Cursor = list.Cursor
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
	entry, _, err := describeFor(c, record)
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
	_, text, err := describeFor(c, record)
	if err != nil {
		return nil, protocolError(c, err)
	}
	return contents(r, mediaMarkdown, string(text)), nil
}

// readFile returns the content of a resource of the skill. It reads the record in the
// scope of the skill: the tenant may have a draft with the same id.
func readFile(c Caller, record jsontext.Value, uri, file string) (content *sdk.ResourceContents, err error) {
	key := schemas.RecordKey{
		Kind: schemas.KindSkill, ID: textOf(record, "skill_id"), TenantID: tenant(c),
		Scope: schemas.ScopeOf(textOf(record, "tenant_id")),
	}
	stored, err := send(c, bus.GetRecord, schemas.RecordAt{RecordKey: key})
	if err != nil {
		return nil, err
	}
	err = useCPU(c, func() error {
		content, err = contentOf(stored.Record, uri, file)
		return err
	})
	return content, err
}

// contentOf returns the content of a resource of the record of a skill.
func contentOf(record jsontext.Value, uri, file string) (*sdk.ResourceContents, error) {
	skill, err := schemas.DecodeStored[schemas.Skill](schemas.KindSkill, record)
	if err != nil {
		return nil, err
	}
	index := slices.IndexFunc(skill.Resources, func(r schemas.Resource) bool { return r.Path == file })
	if index < 0 {
		return nil, unknownFile(uri)
	}
	resource := skill.Resources[index]
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
	if err != nil || malformed != nil || id == "" {
		return nil, "", unknownFile(uri)
	}
	if record, _, err = readSkill(c, id); err != nil {
		return nil, "", err
	}
	err = useCPU(c, func() error {
		if fileURI(id, skillfile.NameOf(id, record), file) != canonicalURI(uri) {
			return unknownFile(uri)
		}
		return nil
	})
	return record, file, err
}

// fileURI returns the URI of a file of a skill of the name.
func fileURI(id, name, file string) string {
	segments := append([]string{id, name}, strings.Split(file, "/")...)
	for i, s := range segments {
		segments[i] = escape(s)
	}
	return skillRoot + strings.Join(segments, "/")
}

// useCPU calls do, which parses or digests a record of up to 1 MiB, while the caller has a CPU for that, and
// returns its error.
func useCPU(c Caller, do func() error) error {
	release, err := c.AcquireCPU()
	defer release()
	if err != nil {
		return err
	}
	return do()
}

// describeFor is describeSkill for a request of the caller.
func describeFor(c Caller, record jsontext.Value) (entry skillEntry, text []byte, err error) {
	err = useCPU(c, func() error {
		entry, text, err = describeSkill(record)
		return err
	})
	return entry, text, err
}

// describeSkill returns the entry of a skill record and its SKILL.md.
func describeSkill(record jsontext.Value) (skillEntry, []byte, error) {
	skill, err := schemas.DecodeStored[schemas.Skill](schemas.KindSkill, record)
	if err != nil {
		return skillEntry{}, nil, err
	}
	head := skillfile.FrontmatterOf(skill, record)
	text, err := skillMarkdown(skill, head)
	if err != nil {
		return skillEntry{}, nil, err
	}
	uri := fileURI(skill.SkillID, head.Name, skillFile)
	files := []skillResource{{uri, digestPrefix + schemas.Digest(text), len(text), mediaMarkdown}}
	for _, r := range skill.Resources {
		if r.Path != skillFile && r.SHA256 != "" && r.Size != nil {
			file := fileURI(skill.SkillID, head.Name, r.Path)
			files = append(files, skillResource{file, digestPrefix + r.SHA256, *r.Size, r.MediaType})
		}
	}
	return skillEntry{uri, head, files}, text, nil
}

const digestPrefix = "sha256:"

// describeStatus describes the status of a record; empty if it is active.
func describeStatus(status, replacedBy string) string {
	if status == "" || status == schemas.StatusActive {
		return ""
	}
	text := skillfile.OneLine(status)
	if replacedBy != "" {
		text += ", replaced by " + code(replacedBy)
	}
	return text
}

// skillMarkdown renders a skill record as SKILL.md.
func skillMarkdown(s schemas.Skill, head skillfile.Frontmatter) ([]byte, error) {
	top, err := head.YAML()
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.Write(top)
	if note := describeStatus(s.Status, s.ReplacedBy); note != "" {
		b.WriteString("\n> This skill is " + note + ".\n")
	}
	b.WriteString("\n" + skillfile.Body(s))
	if strings.TrimSpace(s.Instructions) == "" {
		bullets(&b, "Capabilities", s.Capabilities)
		bullets(&b, "Example queries", s.ExampleQueries)
	}
	b.WriteString("\n## Package\n\nThe context, tools, guardrails and output template of this skill: call the tool `resolve_skill` " +
		"of this server with the `skill_id` " + code(s.SkillID) + ".\n")
	return []byte(b.String()), nil
}
