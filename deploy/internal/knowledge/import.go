package knowledge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/importer"
	"cairn/deploy/internal/output"
	"cairn/deploy/internal/records"
	"cairn/edge/client"
	"cairn/schemas"
)

// importOptions are the flags of cairn import.
type importOptions struct {
	applyOptions
	options   importer.Options
	overwrite bool
	preview   bool
}

func importCommand() *cobra.Command {
	m := &importOptions{}
	m.check, m.stale = m.checkSource, m.ofSource
	cmd := &cobra.Command{
		Use:   "import SOURCE|-- COMMAND…",
		Short: "Register records from skills, MCP servers, OpenAPI documents, agent cards and other Cairns",
		Long: `Import registers records for the skills, tools and agents of a source, unless they are
registered already:

  skills         a directory with SKILL.md files (agentskills.io), one skill each
  mcp            an MCP server by URL or, after --, by command: its tools
  server-json    a server.json, as a tool that represents the MCP server
  mcp-registry   the same for each server of an MCP registry
  openapi        an OpenAPI document: its operations as tools
  agent-card     an A2A agent card: an agent
  cairn          the records of another Cairn

The format is detected, or given by --format. Each record has the source in its field source,
which is the argument unless --source names it. A record of another source, or without a
source, is not replaced without --overwrite. --prune deletes the records of the same source
and tenant that are no longer in the source; it deletes nothing if a part of the source is
invalid.
For files and commands it requires --source.

Skills that break rules of the format, or have more files than a record has space for, give
warnings; --strict rejects them.

--dry-run prints what would change, as a unified diff.`,
		Example: `  cairn import deploy/examples/skills --domain docs --dry-run
  cairn import https://mcp.example.com/mcp --source-key-file key --tenant acme
  cairn import --agents -- npx -y @modelcontextprotocol/server-everything
  cairn import https://registry.modelcontextprotocol.io --prune
  cairn import openapi.yaml --source petstore`,
		Args: m.args,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m.began = time.Now()
			m.options.Stderr, m.options.Strict = cmd.ErrOrStderr(), m.strict
			return m.read(cmd)
		},
	}
	m.RetryTimeout = records.RetryTimeout
	m.flags(cmd, "`TENANT` of the records")
	f := cmd.Flags()
	flags.Choice(cmd, &m.options.Format, "format", "",
		"`FORMAT` of the source: "+strings.Join(importer.Formats(), ", ")+"; empty: detected",
		append([]string{""}, importer.Formats()...)...)
	f.StringVar(&m.options.Name, "source", "", "`NAME` of the source in its records; empty: the argument")
	flags.Secret(f, &m.options.Key, "source-key", "", "bearer `TOKEN` for the source, sent to the host of its URL only")
	f.StringVar(&m.options.SourceTenant, "source-tenant", "",
		"`TENANT` whose records are read from another Cairn; empty: global scope")
	f.StringVar(&m.options.Domain, "domain", "skills", "`DOMAIN` of imported skills, the first segment of their ids")
	f.BoolVar(&m.options.Agents, "agents", false, "register each MCP server as an agent too")
	flags.Choice(cmd, &m.options.ID, "id", "",
		"`ORIGIN` of the ids of skills below the domain: name, or path of the directory", importer.IDName, importer.IDPath)
	f.Bool("lenient", false, "no effect: skills that break rules of the format give warnings; see --strict")
	f.DurationVar(&m.options.Timeout, "timeout", importer.DefaultTimeout, "maximum `DURATION` of reading the source")
	f.BoolVar(&m.prune, "prune", false, "delete records of this source that are no longer in it")
	f.BoolVar(&m.overwrite, "overwrite", false, "replace records of other sources, and records without a source")
	m.strictly(cmd)
	f.BoolVar(&m.preview, "dry-run", false, "print what would change")
	connect.MessageFlag(cmd)
	flags.Text(cmd, &m.output)
	return cmd
}

// args accepts a source, or a command after --.
func (m *importOptions) args(cmd *cobra.Command, args []string) error {
	if cmd.ArgsLenAtDash() == 0 && len(args) > 0 {
		m.options.Command = args
		return nil
	}
	if len(args) != 1 {
		return flags.UsageError(cmd, errors.New("expected one file, directory or URL, or a command after --"))
	}
	m.options.Source = args[0]
	return nil
}

// read reads the source and applies its records.
func (m *importOptions) read(cmd *cobra.Command) error {
	switch {
	case m.options.Timeout <= 0:
		return flags.Usage(errors.New("--timeout must be positive"))
	// another directory may have the same path on another machine
	case m.prune && m.options.Name == "" && !connect.IsURL(m.options.Source):
		return flags.Usage(errors.New("--prune: expected --source with a unique name of the source"))
	}
	bar := output.NewProgress(cmd.ErrOrStderr(),
		"reading "+schemas.RedactURLs(cmp.Or(m.options.Source, "the MCP server")), -1)
	defer bar.Close()
	m.options.Read = bar.Add
	result, err := importer.Read(cmd.Context(), m.options, m.tenant)
	bar.Close()
	if err != nil {
		return err
	}
	output.Lines(cmd.ErrOrStderr(), result.Omitted)
	m.options.Name = result.Name
	m.dry = dryNone
	if m.preview {
		m.dry = dryServer
		m.unified = m.output == flags.TextFormat
	}
	return m.run(cmd, result.Records)
}

// checkSource returns an error for a record that would replace one of another source. It compares
// the stored source with the name of this source and not with the source in the files of an exported
// skill, which may be forged.
func (m *importOptions) checkSource(d difference) error {
	if before := sourceOf(d.stored); d.action == configured && before != m.options.Name && !m.overwrite {
		text := fmt.Sprintf("registered with the source %q; --overwrite replaces it", cmp.Or(before, "none"))
		return schemas.ErrPreconditionFailed.Because(text)
	}
	return nil
}

func sourceOf(record jsontext.Value) string {
	var r struct {
		Source jsontext.Value `json:"source"`
	}
	var text string
	if json.Unmarshal(record, &r) == nil {
		_ = json.Unmarshal(r.Source, &text) // no source is of another type
	}
	return text
}

// ofSource returns the registered records of the source and tenant that the source no longer contains.
func (m *importOptions) ofSource(ctx context.Context, s *summary) (stale []client.Record, err error) {
	stored, err := records.Scope{Tenant: m.tenant, Kinds: schemas.Kinds()}.List(ctx, m.Client)
	if err != nil {
		return nil, err
	}
	for _, r := range stored {
		if sourceOf(r.JSON) == m.options.Name && !s.has(r.Kind, r.ID, r.Tenant) {
			stale = append(stale, r)
		}
	}
	return stale, nil
}
