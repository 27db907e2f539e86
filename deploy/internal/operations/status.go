package operations

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/schemas"
)

func statusCommand() *cobra.Command {
	var c connect.HTTP
	var format string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Print the health of Cairn and its services",
		Long: `Status prints the health of Cairn and of each service, their backends, reasons for a
degraded state, and the applied revision of the catalog. The exit code is 5 when the
status is down, and 0 when it is ok or degraded.`,
		Example: "  cairn status\n  cairn status -o json | jq .status",
		Args:    flags.Args("no arguments", 0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := c.Client.Health(cmd.Context())
			if err != nil {
				return err
			}
			err = output.Result{Value: h, Table: func(t *output.Table) { printHealth(t, h) }}.Print(cmd.OutOrStdout(), format)
			if err == nil && h.Status == schemas.StatusDown {
				return output.Reported(schemas.ErrUnavailable)
			}
			return err
		},
	}
	c.Flags(cmd)
	flags.Text(cmd, &format)
	return cmd
}

func printHealth(t *output.Table, h schemas.Health) {
	t.Row(h.Service, h.Status, h.Version)
	for _, s := range h.Services {
		t.Row("  "+s.Service, s.Status, details(s))
	}
	for _, sentence := range h.Degraded {
		t.Row("degraded: " + sentence)
	}
	for _, s := range h.Services {
		printDangling(t, s.Dangling)
		if s.Index == nil {
			continue
		}
		for _, r := range s.Index.QuarantinedRecords {
			t.Row(fmt.Sprintf("quarantined: %s at revision %d: %s", r.Key, r.Revision, r.Reason))
		}
	}
}

// printDangling adds the number of dangling references and the first ones.
func printDangling(t *output.Table, d *schemas.DanglingReferences) {
	if d == nil {
		return
	}
	t.Row(fmt.Sprintf("dangling references: %d", d.Count))
	for _, r := range d.First {
		t.Row("  " + output.Joined(r.Kind+"/"+r.ID, r.TenantID, r.Field+": "+r.Target))
	}
}

// details returns the backends, the revision and the index status of h on one line.
func details(h schemas.Health) string {
	list := output.Pairs(h.Backends)
	if h.Revision > 0 {
		list = append(list, fmt.Sprint("revision ", h.Revision))
	}
	return strings.Join(append(list, searchable(h.Index)...), ", ")
}

// searchable returns the status of a shared index, one item per property.
func searchable(i *schemas.IndexStatus) (list []string) {
	if i == nil {
		return nil
	}
	if i.Fingerprint != "" {
		list = append(list, "index "+i.Fingerprint)
	}
	if i.Live != i.Fingerprint {
		list = append(list, "live index "+cmp.Or(i.Live, "none"))
	}
	for _, kind := range slices.Sorted(maps.Keys(i.Documents)) {
		list = append(list, fmt.Sprintf("%ss %d", kind, i.Documents[kind]))
	}
	if i.Lag != nil {
		list = append(list, fmt.Sprint("lag ", *i.Lag))
	}
	if i.Quarantined > 0 {
		list = append(list, fmt.Sprint("quarantined ", i.Quarantined))
	}
	return list
}
