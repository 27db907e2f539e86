package knowledge

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/deploy/internal/records"
	"cairn/edge/client"
	"cairn/schemas"
)

// getOptions are the flags of cairn get.
type getOptions struct {
	connection
	filter   schemas.RecordQuery
	limit    int
	output   string
	history  bool
	revision string
}

func getCommand() *cobra.Command {
	g := &getOptions{}
	cmd := &cobra.Command{
		Use:     "get [KIND…|all [ID…]]",
		Aliases: []string{"list", "ls"},
		Short:   "List records, or print some by id",
		Long: `Get lists the records of a kind, of several kinds separated by commas, or of all kinds,
ordered by id; or it prints the records with the ids. KIND/ID names a record too.

With --tenant, a record of the tenant takes precedence over the global one with the same
id, and a list has the global records only if no record of the tenant matches; --scope
selects one of both. The formats json and yaml contain the records as they were
registered, which "cairn apply" accepts. The exit code is 3 if a record does not exist.

--history lists the retained revisions of one record, newest first, deletions included;
--revision prints one of them, which "cairn diff -" compares with the current record.`,
		Example: `  cairn get skills
  cairn get tool netbox.vlans.list -o yaml
  cairn get all --tenant acme --scope tenant --labels team=network -o wide
  cairn get tool --status deprecated -o name | xargs cairn delete
  cairn get skill netbox.list_vlans --history`,
		ValidArgsFunction: g.complete,
		RunE:              g.run,
	}
	g.flags(cmd, "`TENANT` whose records take precedence")
	f := cmd.Flags()
	flags.Choice(cmd, &g.filter.Scope, "scope", "", "only records of this `SCOPE`: tenant or global", "",
		schemas.ScopeTenant, schemas.ScopeGlobal)
	f.StringVar(&g.filter.Domain, "domain", "", "only records of this `DOMAIN`")
	f.StringVar(&g.filter.Status, "status", "", "only records with this `STATUS`, such as draft or deprecated")
	f.StringVar(&g.filter.Labels, "labels", "", "only records with all of these `LABELS`, such as team=network,tier=gold")
	f.StringVar(&g.filter.Prefix, "prefix", "", "only records whose id begins with this `TEXT`")
	f.BoolVar(&g.filter.Public, "public", false, "only published records")
	f.IntVar(&g.limit, "limit", 1000, "maximum number of records of each kind")
	f.BoolVar(&g.history, "history", false, "list the revisions of one record")
	f.StringVar(&g.revision, "revision", "", "print this `REVISION` of one record, as --history lists it")
	cmd.MarkFlagsMutuallyExclusive("history", "revision")
	flags.Output(cmd, &g.output, records.Formats()...)
	return cmd
}

func (g *getOptions) run(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		args = []string{"all"}
	}
	kinds, keys, err := g.targets(args)
	switch {
	case err != nil:
		return err
	case (g.history || g.revision != "") && len(keys) != 1:
		return flags.UsageError(cmd, errors.New("--history and --revision expect one KIND ID"))
	case g.history:
		return g.printHistory(cmd, keys[0])
	case len(keys) > 0:
		return g.byID(cmd, keys)
	}
	return g.list(cmd, kinds)
}

// printHistory prints the revisions of a record.
func (g *getOptions) printHistory(cmd *cobra.Command, key schemas.RecordKey) error {
	key.Scope = g.filter.Scope
	list, err := g.Client.History(cmd.Context(), key)
	if err != nil {
		return err
	}
	names := make([]string, len(list))
	for i, r := range list {
		names[i] = r.Revision
	}
	return output.Result{Value: schemas.RecordHistory{Revisions: list}, Names: names, Table: func(t *output.Table) {
		t.Row("REVISION", "STORED", "STATUS", "VERSION", "ACTOR", "MESSAGE")
		for _, r := range list {
			status := cmp.Or(r.Status, schemas.StatusActive)
			if r.Removed {
				status = "deleted"
			}
			t.Row(r.Revision, r.StoredAt, status, r.Version, r.Actor, r.Message)
		}
	}}.Print(cmd.OutOrStdout(), g.output)
}

// list prints the records of the kinds.
func (g *getOptions) list(cmd *cobra.Command, kinds []string) error {
	if err := flags.AtLeast("limit", g.limit, 1); err != nil {
		return err
	}
	ctx, errOut := cmd.Context(), cmd.ErrOrStderr()
	bar := output.NewProgress(errOut, "reading", -1)
	defer bar.Close()
	q := g.filter
	q.TenantID, q.Limit = schemas.Optional(g.tenant), new(min(g.limit+1, 1000))
	var list []client.Record
	for _, q.Kind = range kinds {
		first, truncated, err := connect.First(g.Client.List(ctx, q), g.limit)
		if err != nil {
			return err
		}
		if truncated {
			output.Line(errOut, fmt.Sprintf("the first %d records of the kind %s; raise --limit for more", g.limit, q.Kind))
		}
		list = append(list, first...)
		bar.Add(len(first))
	}
	if g.output == "json" || g.output == "yaml" {
		if err := records.ReadWhole(ctx, g.Client, list, bar.Add); err != nil {
			return err
		}
	}
	bar.Close()
	if len(list) == 0 && (g.output == "table" || g.output == "wide") {
		output.Line(errOut, "no records found")
		return nil
	}
	return g.print(cmd.OutOrStdout(), list, len(kinds) > 1, false)
}

// byID prints the records with the keys that exist, and reports the others.
func (g *getOptions) byID(cmd *cobra.Command, keys []schemas.RecordKey) error {
	list := make([]client.Record, len(keys))
	errs := make([]error, len(keys))
	records.Concurrently(len(keys), func(i int) {
		key := schemas.RecordAt{RecordKey: keys[i], Revision: g.revision}
		key.Scope = g.filter.Scope
		list[i], errs[i] = g.Client.GetRevision(cmd.Context(), key)
	})
	if len(keys) == 1 && errs[0] != nil {
		return errs[0]
	}
	if err := g.print(cmd.OutOrStdout(), list, true, len(keys) == 1); err != nil {
		return err
	}
	return report(cmd.ErrOrStderr(), errs)
}

// report prints the errors and returns the first as reported.
func report(errOut io.Writer, errs []error) error {
	var first error
	for _, err := range errs {
		if err == nil {
			continue
		}
		if first == nil {
			first = output.Reported(err)
		}
		output.Line(errOut, "cairn: "+output.OneLine(err))
	}
	return first
}

// print prints the records that have a text.
func (g *getOptions) print(out io.Writer, list []client.Record, kinds, single bool) error {
	var texts []jsontext.Value
	var sums []records.Summary
	for _, r := range list {
		if r.JSON == nil {
			continue
		}
		texts = append(texts, r.JSON)
		s := records.Summaries(r.JSON)[0]
		s.Named = r.ID
		if kinds || g.output == "name" {
			s.Named = name(r.Kind, r.ID)
		}
		sums = append(sums, s)
	}
	switch g.output {
	case "json", "yaml":
		return output.Values(out, g.output, texts, single)
	case "name":
		for _, s := range sums {
			output.Name(out, s.Named)
		}
		return nil
	}
	t := output.NewTable(out)
	records.WriteTable(t, sums, g.output == "wide",
		records.Column{Title: "NAME", Cell: func(s records.Summary) string { return s.Named }},
		records.Column{Title: "SCOPE", Cell: records.Summary.Scope},
		records.Column{Title: "STATUS", Cell: records.Summary.StatusOr},
		records.Column{Title: "VERSION", Cell: func(s records.Summary) string { return s.Version }, Wide: true},
		records.Column{Title: "DOMAIN", Cell: func(s records.Summary) string { return s.Domain }, Wide: true},
		records.Column{Title: "LABELS", Cell: func(s records.Summary) string { return s.Labels.String() }, Wide: true},
		records.Column{Title: "DESCRIPTION", Cell: records.Summary.About},
	)
	t.Write()
	return nil
}
