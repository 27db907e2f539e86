package query

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/schemas"
)

// TagsCommand returns the command cairn tags.
func TagsCommand() *cobra.Command {
	cmd := flags.Group(&cobra.Command{
		Use:   "tags",
		Short: "Read, write, list and delete the tags of requests",
		Long: `Tags reads, writes, lists and deletes the tags of requests: state that is written once, read by
every service that processes the request, and expires.`,
	})
	cmd.AddCommand(listTagsCommand(), getTagCommand(), writeTagCommand(), deleteTagCommand())
	return cmd
}

// tags is a command about the tag of a request.
type tags struct {
	connect.HTTP
	tenant string
	output string
}

func (t *tags) flags(cmd *cobra.Command) *cobra.Command {
	t.HTTP.Flags(cmd)
	t.TenantFlag(cmd, &t.tenant, "`TENANT` of the tag")
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	return cmd
}

func listTagsCommand() *cobra.Command {
	t := &tags{}
	var limit int
	cmd := t.flags(&cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the tags of a tenant without their values",
		Long: `List prints the requests that have a tag, the earliest first: when it was written, when it
expires, and its size in bytes.`,
		Example: "  cairn tags list --tenant acme",
		Args:    flags.Args("no arguments", 0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.AtLeast("limit", limit, 1); err != nil {
				return err
			}
			q := schemas.TagQuery{TenantID: schemas.Optional(t.tenant), Limit: new(min(limit+1, 1000))}
			list, truncated, err := connect.First(t.Client.Tags(cmd.Context(), q), limit)
			if err != nil {
				return err
			}
			if truncated {
				output.Line(cmd.ErrOrStderr(), fmt.Sprintf("the first %d tags; raise --limit for more", limit))
			}
			names := make([]string, len(list))
			for i, tag := range list {
				names[i] = tag.RequestID
			}
			return output.Result{Value: list, Names: names, Table: func(table *output.Table) {
				table.Row("REQUEST_ID", "CREATED", "EXPIRES", "SIZE")
				for _, tag := range list {
					table.Row(tag.RequestID, tag.CreatedAt, tag.ExpiresAt, strconv.FormatInt(tag.Size, 10))
				}
			}}.Print(cmd.OutOrStdout(), t.output)
		},
	})
	cmd.Flags().IntVar(&limit, "limit", 100, "maximum number of tags")
	flags.Output(cmd, &t.output, "table", "json", "yaml", "name")
	return cmd
}

func getTagCommand() *cobra.Command {
	t := &tags{}
	cmd := t.flags(&cobra.Command{
		Use:     "get REQUEST_ID",
		Short:   "Print the tag of a request",
		Example: "  cairn tags get r-1 --tenant acme",
		Args:    flags.Args("one REQUEST_ID", 1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			tag, err := t.Client.Tag(cmd.Context(), schemas.TagKey{RequestID: args[0], TenantID: schemas.Optional(t.tenant)})
			if err != nil {
				return err
			}
			return output.Result{Value: tag, Names: []string{tag.RequestID}, Table: func(table *output.Table) {
				table.Row("request_id", tag.RequestID)
				table.Row("flow", tag.Flow)
				for _, name := range slices.Sorted(maps.Keys(tag.Tags)) {
					table.Row("  "+name, string(tag.Tags[name]))
				}
			}}.Print(cmd.OutOrStdout(), t.output)
		},
	})
	flags.Output(cmd, &t.output, "table", "json", "yaml", "name")
	return cmd
}

func writeTagCommand() *cobra.Command {
	t := &tags{}
	var flow string
	var ttl time.Duration
	cmd := t.flags(&cobra.Command{
		Use:   "write REQUEST_ID [NAME=VALUE…]",
		Short: "Write the tag of a request, once",
		Long: `Write stores the tag of a request. A VALUE that is JSON is stored as such, any other one
as a string. The exit code is 4 if the request has a tag already.`,
		Example: "  cairn tags write r-1 --flow triage phase=start attempts=3 --ttl 10m",
		Args:    flags.Args("a REQUEST_ID and NAME=VALUE pairs", 1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			w := schemas.TagWrite{Tag: schemas.Tag{RequestID: args[0], Flow: flow}, TenantID: schemas.Optional(t.tenant)}
			var err error
			if w.Tags, err = pairs(args[1:], true); err != nil {
				return flags.UsageError(cmd, err)
			}
			if seconds := int(ttl.Seconds()); ttl != 0 {
				w.TTLSeconds = &seconds
			}
			if _, err := t.Client.WriteTag(cmd.Context(), w); err != nil {
				return err
			}
			output.Line(cmd.OutOrStdout(), "wrote "+args[0])
			return nil
		},
	})
	cmd.Flags().StringVar(&flow, "flow", "", "`LABEL` of the flow")
	cmd.Flags().DurationVar(&ttl, "ttl", 0, "time to live, in whole seconds; 0: server default")
	return cmd
}

// pairs returns the values of NAME=VALUE arguments as strings, or with asJSON those that are JSON as such.
func pairs(args []string, asJSON bool) (map[string]jsontext.Value, error) {
	values := map[string]jsontext.Value{}
	for _, arg := range args {
		name, text, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("expected NAME=VALUE, got %q", arg)
		}
		if values[name] != nil {
			return nil, fmt.Errorf("%s is given more than once", name)
		}
		value := jsontext.Value(text)
		if !asJSON || !value.IsValid() {
			var err error
			if value, err = jsontext.AppendQuote(nil, text); err != nil {
				return nil, errors.New("expected valid UTF-8")
			}
		}
		values[name] = value
	}
	return values, nil
}

func deleteTagCommand() *cobra.Command {
	t := &tags{}
	return t.flags(&cobra.Command{
		Use:     "delete REQUEST_ID…",
		Short:   "Delete the tags of requests; succeeds if there are none",
		Example: "  cairn tags delete r-1",
		Args:    flags.Args("request ids", 1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, id := range args {
				if err := t.Client.DeleteTag(cmd.Context(),
					schemas.TagKey{RequestID: id, TenantID: schemas.Optional(t.tenant)}); err != nil {
					return err
				}
				output.Line(cmd.OutOrStdout(), "deleted "+id)
			}
			return nil
		},
	})
}
