package mcp

import (
	"context"
	"net/url"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"cairn/bus"
	"cairn/schemas"
	"cairn/schemas/skillfile"
)

// mediaDirectory is the media type of the extension for directories.
const mediaDirectory = "inode/directory"

type readDirectoryParams struct {
	sdk.ParamsBase
	URI    string `json:"uri"`
	Cursor string `json:"cursor,omitempty"`
}

type readDirectoryResult struct {
	sdk.ResultBase
	cacheable
	Resources  []*sdk.Resource `json:"resources"`
	NextCursor string          `json:"nextCursor,omitempty"`
}

// readDirectory answers resources/directory/read with the direct children of a directory: of
// skill://cairn, which has pages of the active skills, of the directory of an id, and of
// the directories of a skill, which are one page each.
func readDirectory(ctx context.Context, _ *sdk.ServerSession, p *readDirectoryParams) (*readDirectoryResult, error) {
	c := callerOf(ctx)
	if p == nil {
		p = &readDirectoryParams{}
	}
	p.URI = canonicalURI(p.URI)
	result := &readDirectoryResult{cacheable: ofTenant, Resources: []*sdk.Resource{}}
	var err error
	if p.URI == strings.TrimSuffix(skillRoot, "/") {
		err = result.listIDs(c, p.Cursor)
	} else {
		err = result.listFiles(c, p)
	}
	if err != nil {
		return nil, protocolError(c, err)
	}
	return result, nil
}

// listIDs adds the directories of a page of the active skills.
func (d *readDirectoryResult) listIDs(c Caller, cursor string) error {
	q := schemas.ListQuery{TenantID: tenant(c), Limit: new(maxCompletions), Cursor: cursor}
	page, err := send(c, bus.ListSkills, q)
	for _, record := range page.Skills {
		id := textOf(record, "skill_id")
		d.Resources = append(d.Resources, directory(skillRoot+escape(id), id))
	}
	d.NextCursor = schemas.ValueOr(page.NextCursor, "")
	return err
}

// listFiles adds the children of a directory within a skill.
func (d *readDirectoryResult) listFiles(c Caller, p *readDirectoryParams) error {
	below, ok := strings.CutPrefix(p.URI, skillRoot)
	if p.Cursor != "" {
		return schemas.ErrMalformed.With(schemas.FieldError{Field: "cursor",
			Message: "expected none: the directory has one page"})
	}
	escaped, _, _ := strings.Cut(below, "/")
	id, err := url.PathUnescape(escaped)
	if !ok || err != nil || id == "" {
		return unknownFile(p.URI)
	}
	record, _, err := readSkill(c, id)
	if err != nil {
		return err
	}
	if root := skillRoot + escape(id); p.URI == root {
		name := skillfile.NameOf(id, record)
		d.Resources = append(d.Resources, directory(root+"/"+name, name))
		return nil
	}
	entry, _, err := describeFor(c, record)
	if err != nil {
		return err
	}
	for _, f := range entry.Resources {
		child, inside := strings.CutPrefix(f.URI, p.URI+"/")
		name, _, deeper := strings.Cut(child, "/")
		if !inside {
			continue
		}
		title, err := url.PathUnescape(name)
		if err != nil {
			return err // cannot happen: describeSkill escaped it
		}
		switch uri := p.URI + "/" + name; {
		case !deeper:
			d.Resources = append(d.Resources, &sdk.Resource{URI: uri, Name: title, MIMEType: f.MediaType, Size: int64(f.Size)})
		case !slices.ContainsFunc(d.Resources, func(r *sdk.Resource) bool { return r.URI == uri }):
			d.Resources = append(d.Resources, directory(uri, title))
		}
	}
	if len(d.Resources) == 0 { // a directory of a skill has a file
		return unknownFile(p.URI)
	}
	return nil
}

func directory(uri, name string) *sdk.Resource {
	return &sdk.Resource{URI: uri, Name: name, MIMEType: mediaDirectory}
}
