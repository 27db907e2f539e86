package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cairn/bus/keys"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/schemas"
)

func keyListCommand() *cobra.Command {
	k := &key{}
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List API keys",
		Example: "  cairn key list",
		Args:    flags.Args("no arguments", 0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return k.with(cmd.Context(), func(ctx context.Context, s *keys.Store) error {
				list, err := s.List(ctx)
				if err != nil {
					return err
				}
				return k.list(list, cmd.OutOrStdout())
			})
		},
	}
	k.flags(cmd)
	return cmd
}

// keyInfo is a key without its hash.
type keyInfo struct {
	ID      string       `json:"id"`
	Role    schemas.Role `json:"role"`
	Tenants []string     `json:"tenants" doc:"none: all"`
	Note    string       `json:"note,omitzero"`
	State   string       `json:"state"`
	Created time.Time    `json:"created"`
	Expires time.Time    `json:"expires,omitzero"`
}

func (k *key) list(list []keys.Key, out io.Writer) error {
	now := time.Now()
	said := make([]keyInfo, len(list))
	for i, k := range list {
		said[i] = keyInfo{k.ID, k.Role, k.Tenants, k.Note, k.State(now), k.Created, k.Expires}
	}
	if k.json {
		return output.JSON(out, said)
	}
	if len(said) == 0 {
		_, err := fmt.Fprintln(out, "no keys; create one with: cairn key create")
		return err
	}
	t := output.NewTable(out)
	t.Row("ID", "ROLE", "TENANTS", "STATE", "CREATED", "EXPIRES", "NOTE")
	for i, l := range said {
		expires := "never"
		if !l.Expires.IsZero() {
			expires = l.Expires.Format(time.DateTime)
		}
		t.Row(l.ID, string(l.Role), tenantList(list[i]), l.State, l.Created.Format(time.DateTime), expires, l.Note)
	}
	return t.Write()
}

const day = 24 * time.Hour

// days is a duration, given in days or in Go syntax; 0 means never.
type days time.Duration

// Set implements pflag.Value.
func (d *days) Set(text string) error {
	if text == "never" {
		*d = 0
		return nil
	}
	n, err := strconv.Atoi(strings.TrimSuffix(text, "d"))
	t := time.Duration(n) * day
	if err != nil || !strings.HasSuffix(text, "d") {
		t, err = time.ParseDuration(text)
	}
	if err != nil || t <= 0 || n > 36500 {
		return fmt.Errorf("want a duration such as 90d or 12h, or never, got %q", text)
	}
	*d = days(t)
	return nil
}

// String implements pflag.Value.
func (d *days) String() string {
	t := time.Duration(*d)
	switch {
	case t == 0:
		return "never"
	case t%day == 0:
		return strconv.Itoa(int(t/day)) + "d"
	default:
		return t.String()
	}
}

// Type implements pflag.Value.
func (d *days) Type() string { return "time" }

// from returns the expiry of a duration that starts at start, or the zero time for never.
func (d *days) from(start time.Time) time.Time {
	if *d == 0 {
		return time.Time{}
	}
	return start.Add(time.Duration(*d)).UTC().Truncate(time.Second)
}
