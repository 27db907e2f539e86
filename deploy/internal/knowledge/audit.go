package knowledge

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/deploy/internal/records"
	"cairn/schemas"
)

// lines is the output format of an entry per line.
const lines = "ndjson"

// auditOptions are the flags of cairn audit.
type auditOptions struct {
	connection
	filter       schemas.AuditQuery
	since, until string
	limit        int
	output       string
}

func auditCommand() *cobra.Command {
	a := &auditOptions{}
	cmd := &cobra.Command{
		Use:   "audit [KIND/ID|key/ID]",
		Short: "Print who changed which record or key, and why",
		Long: `Audit prints the changes of records and API keys, the latest first: with a key for a tenant
those of its tenant, and otherwise of every tenant and the global scope, unless --tenant
selects one. A key for several tenants needs --tenant. Two changes of a record at the same
time may be listed in the other order: their revisions tell which was first. The actor is
the id of the API key, the sub of the token, or the NATS user of a command or service that
uses NATS.

The format ndjson prints an object per line while it reads, and has no limit by default.`,
		Example: `  cairn audit --since 24h
  cairn audit skill/storage.volume_capacity
  cairn audit --tenant acme --actor 4pwq6kzv2n7x --action delete
  cairn audit --since 2026-11-01T00:00:00Z -o ndjson > audit.ndjson`,
		Args:              flags.Args("at most one KIND/ID", 0, 1),
		ValidArgsFunction: a.complete,
		RunE:              a.run,
	}
	a.flags(cmd, "")
	f := cmd.Flags()
	f.Lookup("tenant").Usage = "only changes of this `TENANT`; empty: of the one of the key, or of all and the global " +
		"scope with a key of every tenant"
	f.StringVar(&a.filter.Actor, "actor", "", "only changes of this `ACTOR`")
	flags.Choice(cmd, &a.filter.Action, "action", "", "only this `ACTION`: "+flags.Alternatives(schemas.Actions()),
		append([]string{""}, schemas.Actions()...)...)
	f.StringVar(&a.since, "since", "", "only changes since this `TIME`: "+flags.PastTimeUsage)
	f.StringVar(&a.until, "until", "", "only changes before this `TIME`: "+flags.PastTimeUsage)
	f.IntVar(&a.limit, "limit", 0, "maximum number of changes; 0: 100, or all with -o ndjson")
	flags.Output(cmd, &a.output, "table", "json", "yaml", lines)
	return cmd
}

// parse sets the filter.
func (a *auditOptions) parse(args []string) (err error) {
	if len(args) > 0 {
		if err := a.target(args[0]); err != nil {
			return err
		}
	}
	if a.filter.Since, err = flags.PastTime("since", a.since); err != nil {
		return err
	}
	if a.filter.Until, err = flags.PastTime("until", a.until); err != nil {
		return err
	}
	since, _ := time.Parse(time.RFC3339, a.filter.Since) // zero if empty
	until, err := time.Parse(time.RFC3339, a.filter.Until)
	if err == nil && until.Before(since) {
		return flags.Usage(errors.New("--until: expected a time after --since"))
	}
	a.filter.TenantID = schemas.Optional(a.tenant)
	return flags.AtLeast("limit", a.limit, 0)
}

// target sets the filter of the kind and id.
func (a *auditOptions) target(text string) error {
	kind, id, err := records.ParseName(text, append(schemas.Kinds(), schemas.KindKey))
	if err != nil {
		return err
	}
	if record, target := cutVersion(id); target != (schemas.AliasTarget{}) {
		return flags.Usage(fmt.Errorf("%q: expected KIND/ID without a version; %s/%s includes the changes of its aliases",
			text, kind, record))
	}
	a.filter.Kind, a.filter.ID = kind, id
	return nil
}

func (a *auditOptions) run(cmd *cobra.Command, args []string) error {
	if err := a.parse(args); err != nil {
		return err
	}
	out, limit := cmd.OutOrStdout(), a.limit
	if limit == 0 && a.output != lines {
		limit = schemas.DefaultLimit
	}
	a.filter.Limit = new(1000)
	if limit > 0 {
		a.filter.Limit = new(min(limit+1, 1000))
	}
	list := []schemas.AuditEntry{}
	n := 0
	for e, err := range a.Client.Audit(cmd.Context(), a.filter) {
		if err != nil {
			return err
		}
		if n++; limit > 0 && n > limit {
			output.Line(cmd.ErrOrStderr(), fmt.Sprintf("the latest %d changes; raise --limit for more", limit))
			break
		}
		if a.output != lines {
			list = append(list, e)
		} else if err := output.JSONLine(out, e); err != nil {
			return err
		}
	}
	if a.output == lines {
		return nil
	}
	if a.output == "table" && n == 0 {
		output.Line(cmd.ErrOrStderr(), "no changes found")
		return nil
	}
	return output.Result{Value: list, Table: func(t *output.Table) {
		t.Row("TIME", "ACTOR", "ACTION", "SCOPE", "NAME", "REVISION", "MESSAGE")
		for _, e := range list {
			date, _ := time.Parse(time.RFC3339, e.Time) // as written by a worker
			changed := strings.Trim(name(e.Kind, e.ID), "/")
			if e.Alias != "" {
				changed += "@" + e.Alias
			}
			t.Row(date.Format(time.RFC3339), cmp.Or(e.Actor, "-"), e.Action, cmp.Or(e.TenantID, schemas.ScopeGlobal),
				changed, cmp.Or(e.Revision, "-"), e.Message)
		}
	}}.Print(out, a.output)
}
