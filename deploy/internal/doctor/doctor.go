// Package doctor implements cairn doctor, which checks a deployment and suggests fixes.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/edge/client"
	"cairn/schemas"
)

// Results of a check, best first.
const (
	passed  = "ok"
	skipped = "skipped"
	warned  = "warning"
	failed  = "failed"
)

var severities = []string{passed, skipped, warned, failed}

// finding is the result of one check.
type finding struct {
	Check  string `json:"check"`
	Result string `json:"result"`
	Detail string `json:"detail,omitzero"`
	Fix    string `json:"fix,omitzero"`
	err    error  // determines the exit code
}

func ok(check, detail string) finding { return finding{Check: check, Result: passed, Detail: detail} }
func skip(check, detail string) finding {
	return finding{Check: check, Result: skipped, Detail: detail}
}

func warn(check, detail, fix string) finding {
	return finding{Check: check, Result: warned, Detail: detail, Fix: fix}
}

func fail(check string, err error, fix string) finding {
	return finding{Check: check, Result: failed, Detail: output.OneLine(err), Fix: fix, err: err}
}

// doctor checks a deployment.
type doctor struct {
	connect.HTTP
	nats   connect.NATS
	keys   connect.SecondUser
	tenant string
	output string
	strict bool
	accept bool // losses
}

// Command returns the command cairn doctor.
func Command() *cobra.Command {
	d := &doctor{HTTP: connect.HTTP{RetryTimeout: -1}} // a retry would hide the failure
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check a deployment and print what to fix",
		Long: `Doctor checks that Cairn is reachable, its version and clock, the health of each role
and its back ends, and what the API key permits. With --nats, it also checks the NATS
server, and that all streams exist, have their replicas and are less than 80 % full.

It changes nothing without --accept-loss. The exit code is 0 without a failure, or 1 with
--strict and a warning. After failures it is the code of the first one: 4 for a rejected
credential, 5 for an unavailable server.`,
		Example: `  cairn doctor
  cairn doctor --url https://cairn.example.com --key-file key
  cairn doctor --nats nats://operator:$SECRET@nats:4222 -o json
  cairn doctor --nats nats://operator:$SECRET@nats:4222 --accept-loss`,
		Args:              flags.Args("no arguments", 0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			withNATS := cmd.Flags().Changed("nats")
			if d.accept && !withNATS {
				return errors.New("--accept-loss: set --nats to the NATS server")
			}
			list := checkHTTP(cmd.Context(), d.Client, d.tenant)
			if withNATS {
				list = append(list, d.checkNATS(cmd.Context())...)
			} else {
				list = append(list, skip("nats", "set --nats to check the NATS server and its streams"))
			}
			return d.report(list, cmd.OutOrStdout())
		},
	}
	d.Flags(cmd)
	cmd.Flags().StringVar(&d.tenant, "tenant", "",
		"`TENANT` to check the permissions for; needed for a key of several tenants")
	cmd.Flags().BoolVar(&d.strict, "strict", false, "exit with code 1 if there are warnings")
	cmd.Flags().BoolVar(&d.accept, "accept-loss", false,
		"accept the losses of messages that the NATS server has reported, and restore lost records from the history")
	d.nats.Flags(cmd.Flags())
	d.keys.KeysFlags(cmd.Flags())
	flags.Text(cmd, &d.output)
	return cmd
}

// errWarnings is the error with --strict if there are warnings and no failures.
var errWarnings = errors.New("there are warnings")

// report prints the findings and returns the error of the first failure, or with strict of the
// first warning.
func (d *doctor) report(list []finding, out io.Writer) error {
	if err := (output.Result{Value: list, Table: func(t *output.Table) {
		for _, f := range list {
			t.Row(f.Check, f.Result, f.Detail)
		}
		for _, f := range list {
			if f.Fix != "" {
				t.Row("fix " + f.Check + ": " + f.Fix)
			}
		}
	}}).Print(out, d.output); err != nil {
		return err
	}
	worst := slices.MaxFunc(list, func(a, b finding) int {
		return cmp.Compare(slices.Index(severities, a.Result), slices.Index(severities, b.Result))
	})
	switch worst.Result {
	case failed:
		return output.Reported(worst.err)
	case warned:
		if d.strict {
			return output.Reported(errWarnings)
		}
	}
	return nil
}

// checkNATS checks the NATS server and the streams.
func (d *doctor) checkNATS(ctx context.Context) []finding {
	conn, keyConn, err := d.nats.ConnectBoth(ctx, "cairn-doctor", d.keys)
	if err != nil {
		return []finding{fail("nats", err, "start NATS, or set --nats to its address and to a user that may use JetStream")}
	}
	defer conn.Close()
	defer keyConn.Close()
	list := []finding{ok("nats", schemas.RedactURLs(conn.URL()))}
	if d.accept {
		list = append(list, acceptLoss(ctx, conn, keyConn))
	}
	ctx, cancel := context.WithTimeout(ctx, natsTimeout)
	defer cancel()
	return slices.Concat(list, streams(ctx, conn, keyConn), lostRecords(ctx, conn))
}

// checkHTTP checks the HTTP API. Without a reachable server it stops.
func checkHTTP(ctx context.Context, c *client.Client, tenant string) []finding {
	h, header, err := c.HealthResponse(ctx)
	if err != nil {
		return []finding{fail("url", err, "start Cairn with cairn up, or set --url to the address of an edge")}
	}
	return slices.Concat([]finding{ok("url", c.URL()), version(h), clock(header)}, health(h), credentials(ctx, c, tenant))
}
