package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/bus/natsserver"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/output"
	"cairn/edge"
	"cairn/schemas"
	"cairn/services"
)

// syncAlways is a value of --sync.
const syncAlways = "always"

// upProcess runs all components in one process.
type upProcess struct {
	process
	edgeFlags
	nats     string
	security natsserver.Security // of the NATS server
	data     string
	sync     string // when messages are synced to disk
	cluster  cluster
	backends backends
	chosen   string // reason for the detected model; empty with --model
	options  []natsserver.Option
}

func upCommand() *cobra.Command {
	u := &upProcess{}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run everything in this process",
		Long: `Up runs an embedded NATS server with JetStream, all services and the HTTP edge in
this process. It needs no other server.

Without --model, it uses Ollama on its default port (or at OLLAMA_HOST) if that has
a model with tool calling, and otherwise the rule-based planner offline:. Further
workers and edges can connect to the NATS address.

With --cluster, several such processes form a NATS cluster: streams have three
replicas, and every node serves all requests. Without a quorum, requests are
answered with 503.

SIGINT (Ctrl-C) or SIGTERM starts a graceful shutdown; a second signal terminates
the process immediately.`,
		Example: `  cairn up
  cairn up --data /var/lib/cairn --model ollama://127.0.0.1:11434/qwen3:8b
  cairn up --http 0.0.0.0:8080 --insecure            # no authentication on any interface
  cairn up --data "" --nats-listen "" --http 127.0.0.1:0   # in memory, on a free port
  cairn up --cluster prod --cluster-listen 10.0.0.1:6222 --cluster-secret-file secret \
    --routes nats://10.0.0.2:6222,nats://10.0.0.3:6222     # one of three machines`,
		Args: flags.Args("no arguments", 0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if always, _ := cmd.Flags().GetBool("tag-sync"); always {
				u.sync = syncAlways
			}
			err := u.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
			if errors.Is(err, ErrStorageRecovered) {
				err = errors.Join(err, executeAgain())
			}
			return err
		},
	}
	f := cmd.Flags()
	u.edgeFlags.flags(f)
	f.StringVar(&u.nats, "nats-listen", "127.0.0.1:4222",
		"listen `ADDRESS` for NATS clients; empty: in-process connections only")
	f.StringVar(&u.data, "data", "data", "data `DIRECTORY`; empty: in memory, lost when the process exits")
	flags.Choice(cmd, &u.sync, "sync", "",
		"when messages are synced to disk: every second (`1s`), or always: each one before it is acknowledged", "1s",
		syncAlways)
	flags.Secret(f, &u.security.Secret, "nats-secret", "",
		"`SECRET` that clients of the NATS server must present: nats://SECRET@host:4222")
	f.StringVar(&u.security.Cert, "nats-tls-cert", "",
		"`FILE` with the PEM certificate of the NATS server, reloaded when it changes; empty: no TLS")
	f.StringVar(&u.security.Key, "nats-tls-key", "", "`FILE` with the private key of --nats-tls-cert")
	f.StringVar(&u.security.CA, "nats-tls-ca", "",
		"`FILE` with the CA certificates for mutual TLS between cluster nodes, read at startup; empty: routes without TLS")
	u.cluster.flags(f)
	u.backends.flags(f)
	streamFlags(f, &u.backends.Config)
	u.backends.Model, f.Lookup("model").DefValue = "", "detected, or offline:"
	u.process.flags(cmd)
	return cmd
}

func (u *upProcess) run(ctx context.Context, out, errOut io.Writer) error {
	log, err := u.logger(errOut)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	u.options = []natsserver.Option{
		natsserver.WithLog(log), natsserver.WithRecovery(func() { end(ErrStorageRecovered) }),
	}
	defer u.limitDrain(ctx, log)()
	settings, err := u.backends.settings(u.process, log)
	if err != nil {
		return err
	}
	if u.nats != "" {
		if err := guard("nats-listen", u.nats, u.insecure || u.security.Secret != "",
			"set --nats-secret-file, or --insecure to allow it"); err != nil {
			return err
		}
	}
	if err := flags.Paired("nats-tls-cert", u.security.Cert, "nats-tls-key", u.security.Key); err != nil {
		return err
	}
	u.security.Log = log
	if err := u.cluster.check(u.insecure); err != nil {
		return err
	}
	e, err := u.edgeFlags.config(u.process, log)
	if err != nil {
		return err
	}
	defer func() { _ = e.Listener.Close() }() // already closed if the edge has run
	if e.Access.Enabled() && u.nats != "" && u.security.Secret == "" {
		log.Warn("NATS has no authentication: its clients have all permissions, including creating keys; set --nats-secret",
			"nats", u.nats)
	}
	free, err := lockData(u.data)
	if err != nil {
		return err
	}
	defer free()
	settings.StreamLimit = e.Access.Limits.Streams
	err = u.serve(ctx, e, u.withModel(ctx, settings), out)
	if recovered := errors.Is(context.Cause(ctx), ErrStorageRecovered); recovered && err == nil {
		return ErrStorageRecovered
	}
	return err
}

// ErrStorageRecovered is the error of a process whose NATS server stores messages again after a restart.
var ErrStorageRecovered = errors.New("the streams of the NATS server must be opened again after a failed write")

// executeAgain replaces this process with a new one. It returns only an error.
func executeAgain() error {
	path, err := os.Executable()
	if err != nil {
		return err
	}
	return syscall.Exec(path, os.Args, os.Environ())
}

// withModel returns c with a detected model, unless --model is set.
func (u *upProcess) withModel(ctx context.Context, c services.Config) services.Config {
	if c.Model != "" {
		return c
	}
	url, ok := services.FindModel(ctx)
	if ok {
		c.Model, u.chosen = url, "detected; override with --model"
		return c
	}
	c.Model, u.chosen = services.Defaults().Model, "rule-based planner: no Ollama model with tool calling detected"
	return c
}

// serve runs everything until ctx ends.
func (u *upProcess) serve(ctx context.Context, e edge.Config, c services.Config, out io.Writer) error {
	u.options = append(u.options, natsserver.WithSecurity(u.security))
	if u.sync == syncAlways {
		u.options = append(u.options, natsserver.WithSyncAlways())
	}
	server, err := u.cluster.start(u.data, u.nats, u.options)
	if err != nil {
		return err
	}
	defer server.Stop()
	conn, err := server.Open("cairn-up")
	if err != nil {
		return err
	}
	defer conn.Close()
	e.Conn, e.ClusterHealth = conn, server.Problem
	end, err := u.observe(ctx, c.Log, u.drain, probes{"cairn", func(ctx context.Context) []string {
		return edge.Ready(ctx, conn)
	}})
	if err != nil {
		return err
	}
	defer end()
	clustered := u.cluster.Name != ""
	if clustered {
		_, _ = fmt.Fprintf(out, "Cairn %s: node %s of cluster %s is waiting for a quorum; status: %s/health\n", bus.Version,
			server.Node(), u.cluster.Name, addressOf(e))
	}
	if clustered && c.Replication.Replicas == 0 {
		c.Replication.Replicas = clusterReplicas
	}
	if c.Replication.Storage.Bytes == 0 {
		// Nodes of a cluster have disks of different sizes: the first one determines the limit.
		c.Replication.Storage = bucket.Storage{Bytes: server.StorageLimit(), Initial: clustered}
	}
	err = u.supervise(ctx, c, e, func() {
		t := output.NewTable(out)
		t.Row("Cairn " + bus.Version + " is running.")
		t.Row()
		t.Row("  http", addressOf(e), "documentation: "+addressOf(e)+"/docs")
		t.Row("  nats", cmp.Or(server.URL(), "in-process only"))
		if clustered {
			t.Row("  cluster", u.cluster.Name, "node "+server.Node())
		}
		u.addSettings(t, c)
		for _, sentence := range degraded(ctx, conn, services.DefaultRoles()) {
			t.Row("  degraded", sentence)
		}
		t.Row()
		t.Row("Press Ctrl-C to shut down.")
		t.Write()
		context.AfterFunc(ctx, func() {
			_, _ = fmt.Fprintln(out, "Shutting down: draining requests in flight. Press Ctrl-C again to terminate immediately.")
		})
	})
	if err == nil {
		_, err = fmt.Fprintln(out, "Stopped.")
	}
	return err
}

// addSettings adds the storage and the backends.
func (u *upProcess) addSettings(t *output.Table, c services.Config) {
	t.Row("  data", cmp.Or(u.data, "in memory only: lost when this process exits"))
	if u.data != "" {
		t.Row("  sync", u.sync, u.guarantee())
	}
	t.Row("  services", strings.Join(services.DefaultRoles(), " "))
	t.Row("  index", schemas.RedactURLs(c.Index))
	t.Row("  embed", schemas.RedactURLs(c.Embed))
	t.Row("  model", schemas.RedactURLs(c.Model), u.chosen)
	if c.Render != "" {
		t.Row("  render", c.Render)
	}
}

// guarantee describes the acknowledged writes that survive a failure. Each value of --sync keeps them when the
// process crashes.
func (u *upProcess) guarantee() string {
	switch {
	case u.sync == syncAlways:
		return "acknowledged writes survive a power failure"
	case u.cluster.Name != "":
		return "acknowledged writes survive a crash; a power failure of a majority of the nodes may lose the last second"
	default:
		return "acknowledged writes survive a crash; a power failure may lose the last second"
	}
}

// supervise sets up the streams and runs the services and the edge until ctx ends. The
// edge of a cluster node starts at once, to report the state of the cluster; otherwise
// it starts when all services are ready.
// The edge stops first, so that its requests in flight complete. One drain deadline,
// which starts when either of them stops, applies to both.
func (u *upProcess) supervise(ctx context.Context, c services.Config, e edge.Config, ready func()) error {
	serving, stopServing := context.WithCancel(ctx)
	defer stopServing()
	working, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	var endDrain func()
	c.DrainContext, endDrain = context.WithCancel(context.WithoutCancel(ctx))
	defer endDrain()
	defer context.AfterFunc(serving, func() { time.AfterFunc(c.Drain, func() { endDrain(); stopWork() }) })()
	var g errgroup.Group
	up := make(chan struct{})
	g.Go(func() error {
		defer stopServing()
		err := services.Setup(working, e.Conn, e.Conn, c)
		switch {
		case working.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		return services.Run(working, e.Conn, c, func() { close(up) })
	})
	g.Go(func() error {
		defer stopWork()
		if u.cluster.Name != "" {
			g.Go(func() error { restartSuspended(serving, c.Log); return nil })
			return edge.Serve(serving, e)
		}
		select {
		case <-serving.Done():
			return nil
		case <-up:
			return edge.Serve(serving, e)
		}
	})
	g.Go(func() error {
		select {
		case <-serving.Done():
		case <-up:
			ready()
		}
		return nil
	})
	return g.Wait()
}

// lockData locks the data directory and returns a function that unlocks it.
func lockData(dir string) (func(), error) {
	if dir == "" {
		return func() {}, nil
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("--data: %w", err)
	}
	lock := flock.New(filepath.Join(dir, "lock"))
	taken, err := lock.TryLock()
	switch {
	case err != nil:
		return nil, fmt.Errorf("--data: %w", err)
	case !taken:
		return nil, errors.New("--data: " + dir + " is locked by another process")
	}
	return func() { _ = lock.Unlock() }, nil // the operating system releases it at exit
}
