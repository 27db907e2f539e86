package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"cairn/bus"
	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/edge"
	"cairn/edge/ard"
	"cairn/schemas"
)

// edgeProcess runs an edge.
type edgeProcess struct {
	process
	edgeFlags
	connect.NATS
	reader connect.SecondUser
}

func edgeCommand() *cobra.Command {
	e := &edgeProcess{}
	cmd := &cobra.Command{
		Use:   "edge",
		Short: "Run an HTTP edge",
		Long: `Edge serves the HTTP API and forwards requests to workers through NATS. It holds no
state, so any number of edges can run. While NATS or the workers are unavailable
it answers with 503, and /health names the missing services.`,
		Example: `  cairn edge --nats nats://nats:4222 --http 0.0.0.0:8080 --auth keys
  CAIRN_NATS=nats://nats:4222 cairn edge`,
		Args: flags.Args("no arguments", 0, 0),
		RunE: e.run,
	}
	e.edgeFlags.flags(cmd.Flags())
	e.NATS.Flags(cmd.Flags())
	e.reader.Flags(cmd.Flags(), "reader-nats", "reads API keys and events of analyses")
	e.process.flags(cmd)
	return cmd
}

func (e *edgeProcess) run(cmd *cobra.Command, _ []string) error {
	ctx := cmd.Context()
	log, err := e.logger(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer e.limitDrain(ctx, log)()
	conn, err := e.Open("cairn-edge")
	if err != nil {
		return err
	}
	defer conn.Close()
	if e.reader.URL != "" {
		reader, err := e.As(e.reader).Open("cairn-edge-reader")
		if err != nil {
			return fmt.Errorf("--reader-nats: %w", err)
		}
		conn.SetReadConn(reader)
	}
	c, err := e.config(e.process, log)
	if err != nil {
		return err
	}
	c.Conn = conn
	end, err := e.observe(ctx, log, e.drain, probes{"cairn-edge", func(ctx context.Context) []string {
		return edge.Ready(ctx, conn)
	}})
	if err != nil {
		return err
	}
	defer end()
	output.Line(cmd.OutOrStdout(), fmt.Sprintf("Cairn %s: edge on %s, connected to %s", bus.Version, addressOf(c),
		schemas.RedactURLs(e.URL)))
	return edge.Serve(ctx, c)
}

// edgeFlags holds the flags of an edge.
type edgeFlags struct {
	accessFlags
	http           string
	cert, key      string // files
	analyzeTimeout time.Duration
	bodies         int64 // bytes
	console        bool
	origins        []string
	publisher      string // domain
	publisherURL   string
}

func (e *edgeFlags) flags(f *pflag.FlagSet) {
	f.StringVar(&e.http, "http", "127.0.0.1:8080", "listen `ADDRESS` for HTTP; port 0 chooses a free port")
	f.StringVar(&e.cert, "tls-cert", "",
		"`FILE` with the PEM certificate for HTTPS, reloaded when it changes; empty: plain HTTP")
	f.StringVar(&e.key, "tls-key", "", "`FILE` with the private key of --tls-cert")
	e.accessFlags.flags(f)
	f.BoolVar(&e.console, "console", true, "serve the web console at /")
	words(f, &e.origins, "cors-origin",
		"`ORIGIN` whose pages may call the API from a browser (CORS), such as https://app.example.com; * alone: every origin; repeatable, space-separated in the environment")
	f.StringVar(&e.publisher, "ard-publisher", "",
		"`DOMAIN` that publishes public records in the catalog of Agentic Resource Discovery; empty: no catalog")
	f.StringVar(&e.publisherURL, "ard-url", "",
		"`URL` of this server in the catalog; empty: https:// and the domain of --ard-publisher")
	f.DurationVar(&e.analyzeTimeout, "analyze-timeout", bus.Analyze.Timeout, "timeout of an analysis; at most 2m0s")
	mebibytes(f, &e.bodies, "body-memory",
		"memory budget of the bodies of requests and responses in `MIB`, shared fairly among tenants; requests beyond it are answered with 503; 0: an eighth of the memory limit (cgroup or GOMEMLIMIT; 4 GiB if unset)")
}

// catalogPublisher returns the publisher of the catalog.
func (e *edgeFlags) catalogPublisher() (p ard.Publisher, err error) {
	switch {
	case e.publisher != "":
		if p, err = ard.NewPublisher(e.publisher, e.publisherURL); err != nil {
			err = fmt.Errorf("--ard-publisher, --ard-url: %w", err)
		}
	case e.publisherURL != "":
		err = errors.New("--ard-url requires --ard-publisher")
	}
	return p, err
}

// config returns the configuration of the edge. The caller closes its listener.
func (e *edgeFlags) config(p process, log *slog.Logger) (edge.Config, error) {
	c := edge.Config{
		Log:            log,
		Drain:          p.drain,
		BodyMemory:     memoryShare(e.bodies, 8),
		AnalyzeTimeout: e.analyzeTimeout,
		Connections:    maxConnections(),
		NoMetrics:      p.metrics != "",
		NoConsole:      !e.console,
		Cert:           e.cert,
		Key:            e.key,
		Hosts:          p.hosts,
	}
	var err error
	if c.Access, err = e.accessFlags.config(e.http); err != nil {
		return c, err
	}
	if c.Publisher, err = e.catalogPublisher(); err != nil {
		return c, flags.Usage(err)
	}
	if c.Origins, err = edge.ParseOrigins(e.origins); err != nil {
		return c, flags.Usage(fmt.Errorf("--cors-origin: %w", err))
	}
	if slices.Contains(e.origins, "*") && !c.Access.Enabled() { // any page that a user opens could write
		return c, flags.Usage(errors.New(
			"--cors-origin: * requires --auth keys or oidc; expected exact origins without authentication"))
	}
	err = cmp.Or(flags.AtLeast("analyze-timeout", e.analyzeTimeout, time.Millisecond),
		flags.AtMost("analyze-timeout", e.analyzeTimeout, bus.Analyze.Timeout))
	err = cmp.Or(err, flags.AtLeast("body-memory", c.BodyMemory>>20, minBudget>>20))
	err = cmp.Or(err, flags.Paired("tls-cert", e.cert, "tls-key", e.key))
	if err == nil && e.cert != "" {
		_, err = tls.LoadX509KeyPair(e.cert, e.key) // fail before anything starts
	}
	if err != nil {
		return c, err
	}
	if c.Listener, err = net.Listen("tcp", e.http); err != nil {
		return c, fmt.Errorf("--http: %w", err)
	}
	e.warn(log, c.Access, c.Listener.Addr().String(), c.Cert != "")
	return c, nil
}

// addressOf returns the URL of the edge.
func addressOf(c edge.Config) string {
	scheme := "http"
	if c.Cert != "" {
		scheme = "https"
	}
	return scheme + "://" + c.Listener.Addr().String()
}
