// Package resolve has the command that searches for records and prints packages of skills.
package resolve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"cairn/deploy/internal/client"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/schemas"
)

// resolve queries records.
type resolve struct {
	client.HTTP
	as      map[string]*bool // type of the argument; at most one is true
	tenant  string
	topK    int
	search  string
	explain bool
	json    bool
}

// Types of the argument of resolve.
const (
	asSkill = "skill"
	asQuery = "query"
	asAgent = "agent"
	asTool  = "tool"
	asClass = "tool-class"
)

// Command returns the command cairn resolve.
func Command() *cobra.Command {
	r := &resolve{as: map[string]*bool{}}
	cmd := &cobra.Command{
		Use:   "resolve QUERY|ID",
		Short: "Search for skills, or print the package of a skill",
		Long: `Resolve prints the skills that match a query, best first, or the package of a skill:
its context builders, tools, guardrails and template.

An argument of two or more segments with dots between and without spaces, such as
storage.volume_capacity, is a skill id; anything else is a query. --skill and --query
override this. --agent searches for an agent, --tool prints a tool by id, and
--tool-class lists the tools of a class.

With --tenant, records of the tenant take precedence over global ones, and guardrails
of both scopes apply. Without it, only global records are visible.`,
		Example: `  cairn resolve "which volumes are nearly full?" --tenant acme
  cairn resolve storage.volume_capacity --tenant acme --explain
  cairn resolve --agent "storage capacity"
  cairn resolve --tool-class inventory.read
  cairn resolve --json --top-k 1 "open change requests" | jq -r '.skills[0].skill_id'`,
		Args: flags.Args("one QUERY or ID", 1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.run(cmd.Context(), args[0], cmd.OutOrStdout())
		},
	}
	r.flags(cmd)
	return cmd
}

func (r *resolve) flags(cmd *cobra.Command) {
	r.Flags(cmd)
	f := cmd.Flags()
	for _, as := range []struct{ name, usage string }{
		{asSkill, "the argument is the id of a skill"},
		{asQuery, "the argument is a query for skills"},
		{asAgent, "the argument is a query for an agent"},
		{asTool, "the argument is the id of a tool"},
		{asClass, "the argument is a class of tools"},
	} {
		r.as[as.name] = f.Bool(as.name, false, as.usage)
	}
	cmd.MarkFlagsMutuallyExclusive(asSkill, asQuery, asAgent, asTool, asClass)
	f.StringVar(&r.tenant, "tenant", "", "`TENANT` scope of the request; empty: global scope")
	f.IntVar(&r.topK, "top-k", schemas.DefaultTopK, "maximum number of skills for a query, 1 to 100")
	f.StringVar(&r.search, "search", schemas.SearchHybrid, "search `METHOD`: text (BM25), vector (kNN) or hybrid (both)")
	f.BoolVar(&r.explain, "explain", false, "print the scope and the link of each part")
	flags.JSON(cmd, &r.json)
}

// kind returns the type of the argument and whether it was guessed.
func (r *resolve) kind(arg string) (as string, guessed bool) {
	for name, chosen := range r.as {
		if *chosen {
			return name, false
		}
	}
	if looksLikeID(arg) {
		return asSkill, true
	}
	return asQuery, true
}

// looksLikeID reports whether text is a single word with dot-separated parts.
func looksLikeID(text string) bool {
	return strings.Contains(text, ".") && !strings.ContainsFunc(text, unicode.IsSpace) &&
		!strings.Contains("."+text+".", "..")
}

func (r *resolve) run(ctx context.Context, arg string, out io.Writer) error {
	as, guessed := r.kind(arg)
	path, question, show := r.question(as, arg)
	got, err := r.Post(ctx, path, question)
	switch {
	case guessed && as == asSkill && errors.Is(err, schemas.ErrSkillNotFound):
		return fmt.Errorf("%w: %q was interpreted as a skill id; use --query to search", err, arg)
	case err != nil:
		return err
	case r.json:
		return output.JSON(out, jsontext.Value(got.Body))
	default:
		return show(out, got.Body)
	}
}

// question returns the path and body of the request, and the function that prints the
// response.
func (r *resolve) question(as, arg string) (path string, question any, show func(io.Writer, []byte) error) {
	who := schemas.QueryOptions{Explain: r.explain}
	if r.tenant != "" {
		who.TenantID = &r.tenant
	}
	switch as {
	case asSkill:
		return "/resolve/skill", schemas.SkillQuery{SkillID: arg, QueryOptions: who}, showPackage
	case asAgent:
		return "/resolve/agent", schemas.AgentQuery{Query: arg, Search: r.search, QueryOptions: who}, showAgent
	case asTool:
		return "/resolve/tools", schemas.ToolsQuery{ToolIDs: []string{arg}, QueryOptions: who}, showTools
	case asClass:
		return "/resolve/tool_class", schemas.ToolClassQuery{ToolClass: arg, QueryOptions: who}, showTools
	default:
		return "/resolve/skill", schemas.SkillQuery{Query: arg, TopK: &r.topK, Search: r.search, QueryOptions: who}, showHits
	}
}
