package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"cairn/deploy/faults"
)

// benchFaults lets nodes of a cluster fail, and checks what clients are told.
type benchFaults struct {
	faults.Options
	keep string
}

func benchFaultsCommand() *cobra.Command {
	b := &benchFaults{}
	cmd := &cobra.Command{
		Use:   "faults",
		Short: "Let machines fail, and check that nothing acknowledged is lost or stale",
		Long: `Faults runs three "cairn up" on this machine that are one cluster, and clients of
all three that create, read and delete tags, and register and resolve records. Meanwhile it
kills a node, has one stand still, and cuts one off; as root on Linux it also
fills the disk of one, and takes the power from one and from all, whose disks then
forget what was not synced. Mostly it is the leader. Then it checks that what the
clients were told of tags is linearizable: as if each request had been done at one
moment between its question and its answer; and that every record is there whose
registration was acknowledged. Of each fault it says how many requests at the other
nodes failed, and how long they took. It ends with code 1 when that is not so, and leaves
a page that shows where.`,
		Example: `  cairn bench faults --for 10m`,
		Args:    wants("nothing more", 0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return b.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	f.DurationVar(&b.For, "for", time.Minute, "how long faults are made")
	f.IntVar(&b.Clients, "clients", 9, "how many clients use tags; three more register records, and three resolve one")
	f.StringVar(&b.keep, "dir", "", "`FOLDER` for data, logs and the page of a violation; empty: one that goes when all is well")
	f.BoolVar(&b.Without, "without", false, "make no faults, to know what is so without them")
	return cmd
}

func (b *benchFaults) run(ctx context.Context, out io.Writer) (err error) {
	if b.Program, err = os.Executable(); err != nil {
		return err
	}
	if b.Dir = b.keep; b.keep == "" {
		if b.Dir, err = os.MkdirTemp("", "cairn-faults-"); err != nil {
			return err
		}
	} else if err := os.MkdirAll(b.Dir, 0o750); err != nil {
		return err
	}
	b.Log = func(line string) { _, _ = fmt.Fprintln(out, line) }
	r, err := faults.Run(ctx, b.Options)
	if err != nil {
		return err
	}
	if err := printFaults(out, r); err != nil {
		return err
	}
	if !r.OK() {
		return fmt.Errorf("verdict %s, %d registrations lost; see %s", r.Verdict, len(r.Lost), b.Dir)
	}
	if b.keep == "" {
		return os.RemoveAll(b.Dir)
	}
	return nil
}

// printFaults prints what was done, and what became of it.
func printFaults(out io.Writer, r faults.Result) error {
	t := newTable(out)
	t.row("FAULT", "AT", "AT THE OTHERS", "FAILED", "P99", "NONE FOR")
	seconds := func(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
	for _, f := range r.Faults {
		what, at := f.What, seconds(f.At)
		for _, kind := range faults.Kinds() {
			e := f.Effects[kind]
			t.row(what, at, kind, fmt.Sprintf("%d of %d", e.Failed, e.Asked), seconds(e.P99), seconds(e.None))
			what, at = "", ""
		}
	}
	t.row()
	for _, line := range []struct {
		what  string
		count int
	}{
		{"operations on tags", r.Operations}, {"written", r.Writes}, {"read", r.Reads}, {"refused", r.Refused},
		{"of unknown outcome", r.Unknown}, {"registrations acknowledged", r.Registers}, {"and lost", len(r.Lost)},
	} {
		t.row(line.what, strconv.Itoa(line.count))
	}
	t.row("linearizable", string(r.Verdict))
	return t.write()
}
