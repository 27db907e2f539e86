package client

import (
	"context"
	"net/http"
	"net/url"

	"cairn/schemas"
)

// SearchSkills returns the skills that match q.Query, best first, or
// schemas.ErrSkillNotFound.
func (c *Client) SearchSkills(ctx context.Context, q schemas.SkillQuery) (hits schemas.SkillHits, err error) {
	q.SkillID = ""
	return hits, c.Read(ctx, "/resolve/skill", q, &hits)
}

// Package returns the package of a skill, or schemas.ErrSkillNotFound.
func (c *Client) Package(ctx context.Context, id string, o schemas.QueryOptions) (p schemas.SkillPackage, err error) {
	return p, c.Read(ctx, "/resolve/skill", schemas.SkillQuery{SkillID: id, QueryOptions: o}, &p)
}

// SearchAgent returns the agent that best matches q, or schemas.ErrAgentNotFound.
func (c *Client) SearchAgent(ctx context.Context, q schemas.AgentQuery) (a schemas.AgentAnswer, err error) {
	return a, c.Read(ctx, "/resolve/agent", q, &a)
}

// Tools returns tools by id, and the ids that were not found.
func (c *Client) Tools(ctx context.Context, q schemas.ToolsQuery) (a schemas.ToolsAnswer, err error) {
	return a, c.Read(ctx, "/resolve/tools", q, &a)
}

// ToolClass returns the tools of a class, ordered by id.
func (c *Client) ToolClass(ctx context.Context, q schemas.ToolClassQuery) (a schemas.ToolClassAnswer, err error) {
	return a, c.Read(ctx, "/resolve/tool_class", q, &a)
}

// WriteTag stores the tag of a request, or returns schemas.ErrTagExists.
func (c *Client) WriteTag(ctx context.Context, t schemas.TagWrite) (w schemas.TagWritten, err error) {
	_, err = c.call(ctx, request{method: http.MethodPost, path: "/tags/write"}, t, &w)
	return w, err
}

// Tag returns the tag of a request, or schemas.ErrTagNotFound.
func (c *Client) Tag(ctx context.Context, key schemas.TagKey) (schemas.Tag, error) {
	var found schemas.TagFound
	err := c.tag(ctx, http.MethodGet, key, &found)
	return found.Tags, err
}

// DeleteTag deletes the tag of a request; it succeeds if there is none.
func (c *Client) DeleteTag(ctx context.Context, key schemas.TagKey) error {
	return c.tag(ctx, http.MethodDelete, key, nil)
}

func (c *Client) tag(ctx context.Context, method string, key schemas.TagKey, out any) error {
	if err := key.Validate(); err != nil {
		return err
	}
	path := "/tags/" + url.PathEscape(key.RequestID)
	if key.TenantID != nil {
		path += "?" + url.Values{"tenant_id": {*key.TenantID}}.Encode()
	}
	_, err := c.call(ctx, request{method: method, path: path, read: method == http.MethodGet, idempotent: true}, nil, out)
	return err
}

// Reindex starts to rebuild the shared search index, and is not retried. It returns
// schemas.ErrNotImplemented with the embedded one.
func (c *Client) Reindex(ctx context.Context) (r schemas.Reindexed, err error) {
	_, err = c.call(ctx, request{method: http.MethodPost, path: "/register/reindex", once: true}, schemas.Nothing{}, &r)
	return r, err
}
