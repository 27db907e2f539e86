package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"cairn/deploy/internal/flags"
	"cairn/schemas"
)

// readMCP returns the tools of an MCP server as tools, and with Agents the server as an agent.
func readMCP(ctx context.Context, s *source) ([]entry, error) {
	client := sdk.NewClient(&sdk.Implementation{Name: "cairn", Version: "1.0.0"},
		&sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{}})
	session, err := openSession(ctx, s, client)
	if err != nil {
		return nil, fmt.Errorf("connect to the MCP server: %w", err)
	}
	defer func() { _ = session.Close() }() // everything was read
	about := session.InitializeResult()
	if about == nil || about.ServerInfo == nil || about.ServerInfo.Name == "" {
		return nil, flags.Usage(errors.New("expected an MCP server with a name in serverInfo"))
	}
	server := mcpServer{about: about, where: map[string]any{"server": about.ServerInfo.Name}}
	if s.url != nil {
		server.where["url"] = s.address()
	} else {
		server.where["command"] = s.Command
	}
	if about.Capabilities == nil || about.Capabilities.Tools == nil {
		return server.entries(s.Agents), nil
	}
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, fmt.Errorf("list the tools: %w", withoutURL(err))
		}
		server.add(t)
		if err := tooMany(server.tools); err != nil {
			return nil, err
		}
	}
	return server.entries(s.Agents), nil
}

// openSession connects to the MCP server of the URL or the command.
func openSession(ctx context.Context, s *source, client *sdk.Client) (*sdk.ClientSession, error) {
	if s.url != nil {
		session, err := client.Connect(ctx, &sdk.StreamableClientTransport{Endpoint: s.url.String(), HTTPClient: s.http,
			MaxEventSize: maxDocument, MaxRetries: -1, DisableStandaloneSSE: true}, nil)
		return session, withoutURL(err)
	}
	c, err := startCommand(ctx, s.Command, s.Stderr)
	if err != nil {
		return nil, err
	}
	session, err := client.Connect(ctx, c.transport(), nil)
	if err != nil {
		return nil, c.explain(ctx, err)
	}
	return session, nil
}

// withoutURL returns the cause of a failed request without its URL, which may have a password.
func withoutURL(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}

// mcpServer is a server whose tools are read.
type mcpServer struct {
	about *sdk.InitializeResult
	where map[string]any
	tools []entry
	names []string
}

func (m *mcpServer) name() string { return m.about.ServerInfo.Name }

// add adds a tool of the server.
func (m *mcpServer) add(t *sdk.Tool) {
	place := m.name() + ": tool " + t.Name
	if t.Name == "" {
		m.tools = append(m.tools, invalid(place, "expected a name"))
		return
	}
	title := t.Title
	var notes any
	if t.Annotations != nil {
		title, notes = cmp.Or(title, t.Annotations.Title), t.Annotations
	}
	where := map[string]any{"tool": t.Name}
	for name, value := range m.where {
		where[name] = value
	}
	m.names = append(m.names, cmp.Or(title, t.Name))
	m.tools = append(m.tools, entryOf(place, tool{
		ToolID: serverID(m.name()) + "." + segment(t.Name), ToolClass: schemas.ClassMCPTool, Provider: m.name(),
		DisplayName: title,
		Description: t.Description, versioned: versionOf(m.about.ServerInfo.Version), InputSchema: t.InputSchema,
		OutputSchema: t.OutputSchema, Annotations: notes, MCP: where,
	}))
}

// entries returns the tools and, if agents is true, the agent.
func (m *mcpServer) entries(agents bool) []entry {
	if !agents {
		return m.tools
	}
	i := m.about.ServerInfo
	return append(m.tools, entryOf(m.name(), agent{
		AgentID: serverID(i.Name), DisplayName: cmp.Or(i.Title, i.Name),
		Description: cmp.Or(i.Description, m.about.Instructions),
		versioned:   versionOf(i.Version), Capabilities: bounded(m.names), MCP: m.where,
	}))
}
