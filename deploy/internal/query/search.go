package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/deploy/internal/records"
	"cairn/schemas"
)

// search finds records of a kind, or an agent.
type search struct {
	connect.HTTP
	kind    string
	tenant  string
	topK    int
	method  string
	scope   string
	domain  string
	status  string
	labels  string
	able    []string
	explain bool
	output  string
}

func searchCommand() *cobra.Command {
	s := &search{}
	cmd := &cobra.Command{
		Use:   "search QUERY",
		Short: "Search for skills, tools, guardrails or templates, or for an agent",
		Long: `Search prints the skills that match a query, best first, or the records of another --kind;
with --kind agent, the agent that matches best. Only active and deprecated records are searched.

--domain, --status, --labels and --capability restrict the search before it selects the
best matches. With --tenant, relevant skills and agents of the tenant take precedence over
global ones; --scope both ranks them together, as tools, guardrails and templates always are.
Without it and with a key of all tenants, only global records are visible.`,
		Example: `  cairn search "which volumes are nearly full?" --tenant acme
  cairn search "open change requests" --domain itsm --labels tier=gold --top-k 1
  cairn search "why is a connection blocked" --kind agent
  cairn search "never repeat passwords" --kind guardrail
  cairn search "full volumes" --tenant acme --scope both
  cairn search "full volumes" -o name | xargs cairn describe`,
		Args:              flags.Args("one QUERY (quote several words)", 1, 1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              s.run,
	}
	s.Flags(cmd)
	f := cmd.Flags()
	kinds := schemas.SearchableKinds()
	f.StringVar(&s.kind, "kind", kinds[0], "`KIND` of the records: "+flags.Alternatives(kinds))
	_ = cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions(kinds, cobra.ShellCompDirectiveNoFileComp))
	s.TenantFlag(cmd, &s.tenant, "`TENANT` scope of the request")
	f.IntVar(&s.topK, "top-k", schemas.DefaultTopK, "maximum number of records, 1 to 100")
	flags.Choice(cmd, &s.method, "search", "", "search `METHOD`: text (BM25), vector (kNN) or hybrid (both)",
		schemas.SearchHybrid, schemas.SearchText, schemas.SearchVector)
	flags.Choice(cmd, &s.scope, "scope", "", "`SCOPE` of the records: both ranks those of the tenant and global ones together",
		"", schemas.ScopeBoth)
	f.StringVar(&s.domain, "domain", "", "only records of this `DOMAIN`")
	flags.Choice(cmd, &s.status, "status", "", "only records with this `STATUS`: active or deprecated",
		"", schemas.StatusActive, schemas.StatusDeprecated)
	f.StringVar(&s.labels, "labels", "", "only records with all of these `LABELS`, such as team=network,tier=gold")
	f.StringSliceVar(&s.able, "capability", nil, "only records with this `CAPABILITY`; comma-separated list for several")
	f.BoolVar(&s.explain, "explain", false, "print the scope and the ranks of each match")
	flags.Output(cmd, &s.output, records.Formats()...)
	return cmd
}

func (s *search) options() schemas.QueryOptions {
	return schemas.QueryOptions{TenantID: schemas.Optional(s.tenant), Explain: s.explain || s.output == "wide"}
}

func (s *search) filter() (schemas.Filter, error) {
	labels, err := schemas.ParseLabels(s.labels)
	if err != nil {
		return schemas.Filter{}, flags.Usage(fmt.Errorf("--labels: %w", err))
	}
	return schemas.Filter{Domain: s.domain, Status: s.status, Labels: labels, Capabilities: s.able}, nil
}

func (s *search) run(cmd *cobra.Command, args []string) error {
	filter, err := s.filter()
	if err != nil {
		return err
	}
	kind, _ := records.ParseKind(s.kind)
	if kinds := schemas.SearchableKinds(); !slices.Contains(kinds, kind) {
		return flags.UsageError(cmd, fmt.Errorf("--kind: expected %s, got %q", flags.Alternatives(kinds), s.kind))
	}
	s.kind = kind
	switch s.kind {
	case schemas.KindSkill:
		return s.skills(cmd, args[0], filter)
	case schemas.KindAgent:
		return s.agent(cmd, args[0], filter)
	default:
		return s.records(cmd, args[0], filter)
	}
}

func (s *search) skills(cmd *cobra.Command, query string, filter schemas.Filter) error {
	q := schemas.SkillQuery{
		Query: query, TopK: &s.topK, Search: s.method, Filter: filter, Scope: s.scope, QueryOptions: s.options(),
	}
	hits, err := s.Client.SearchSkills(cmd.Context(), q)
	if err != nil {
		return err
	}
	return s.print(cmd, result{hits, records.Summaries(hits.Skills...), hits.Explained, hits.Degraded})
}

// records prints the tools, guardrails or templates that match the query.
func (s *search) records(cmd *cobra.Command, query string, filter schemas.Filter) error {
	page, err := s.Client.SearchRecords(cmd.Context(), schemas.RecordSearch{
		Query: query, Kinds: []string{s.kind}, Limit: &s.topK, Search: s.method, Filter: filter, Scope: s.scope,
		QueryOptions: s.options(),
	})
	if err != nil {
		return err
	}
	var list []records.Summary
	for _, h := range page.Hits {
		summary := records.Summaries(h.Record)[0]
		summary.Score = h.Score
		list = append(list, summary)
	}
	if len(list) == 0 {
		return schemas.ErrRecordNotFound.Because(output.Joined("no active "+s.kind+" matches the query", page.Degraded))
	}
	return s.print(cmd, result{page, list, page.Explained, page.Degraded})
}

// result is the response to a search, and its hits.
type result struct {
	response any
	list     []records.Summary
	schemas.Explained
	degraded string
}

func (s *search) print(cmd *cobra.Command, hits result) error {
	why := records.ReasonsOf(hits.Explained)
	inactive := slices.ContainsFunc(hits.list, func(r records.Summary) bool {
		return r.StatusOr() != schemas.StatusActive
	})
	return output.Result{Value: hits.response, Names: records.Names(s.kind, hits.list), Table: func(t *output.Table) {
		records.WriteTable(t, hits.list, s.output == "wide",
			records.Column{Title: "SCORE", Cell: func(r records.Summary) string { return fmt.Sprintf("%.3f", r.Score) }},
			records.Column{Title: strings.ToUpper(s.kind), Cell: records.Summary.ID},
			records.Column{Title: "SCOPE", Cell: records.Summary.Scope, Wide: true},
			records.Column{Title: "VERSION", Cell: func(r records.Summary) string { return r.Version }, Wide: true},
			records.Column{Title: "STATUS", Cell: records.Summary.StatusOr, Wide: !inactive},
			records.Column{Title: "LABELS", Cell: func(r records.Summary) string { return r.Labels.String() }, Wide: true},
			records.Column{Title: "PURPOSE", Cell: func(r records.Summary) string {
				return output.Joined(r.About(), why.Explanation(s.kind, r))
			}},
		)
		degraded(t, hits.degraded)
	}}.Print(cmd.OutOrStdout(), s.output)
}

func (s *search) agent(cmd *cobra.Command, query string, filter schemas.Filter) error {
	a, err := s.Client.SearchAgent(cmd.Context(),
		schemas.AgentQuery{Query: query, Search: s.method, Filter: filter, Scope: s.scope, QueryOptions: s.options()})
	if err != nil {
		return err
	}
	agent := records.Summaries(a.Record)[0]
	names := records.Names(schemas.KindAgent, []records.Summary{agent})
	return output.Result{Value: a, Names: names, Table: func(t *output.Table) {
		t.Row(output.Joined(a.AgentID, records.ReasonsOf(a.Explained).Explanation(schemas.KindAgent, agent)))
		t.Row("  score", fmt.Sprintf("%.3f", a.Score))
		for i, c := range a.Capabilities {
			t.Row("  "+first(i, "capabilities"), c)
		}
		for i, id := range a.OwnedSkillIDs {
			t.Row("  "+first(i, "owns"), id)
		}
		degraded(t, a.Degraded)
	}}.Print(cmd.OutOrStdout(), s.output)
}

// first returns text for index 0 and an empty string otherwise.
func first(i int, text string) string {
	if i == 0 {
		return text
	}
	return ""
}
