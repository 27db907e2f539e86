package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"cairn/bus"
	"cairn/deploy/internal/flags"
	"cairn/edge"
	"cairn/services"
)

// process holds the flags that all server commands share.
type process struct {
	level  slog.Level
	format string
	drain  time.Duration
	observed
}

func (p *process) flags(f *pflag.FlagSet) {
	f.TextVar(&p.level, "log-level", slog.LevelInfo, "minimum log `LEVEL`: debug, info, warn or error; logs go to stderr")
	f.StringVar(&p.format, "log-format", "text", "log `FORMAT`: text or json")
	f.DurationVar(&p.drain, "drain", services.Defaults().Drain, "graceful shutdown timeout for requests in flight; after it they are canceled and the exit code is 124")
	p.observed.flags(f)
}

// exitTimeout bounds the time after the drain to cancel requests in flight and close.
const exitTimeout = 1750 * time.Millisecond

// limitDrain exits the process with exitCutOff when it still runs exitTimeout
// after the drain that begins when ctx ends. The caller calls stop at its end.
func (p *process) limitDrain(ctx context.Context, log *slog.Logger) (stop func()) {
	returned, stop := context.WithCancel(context.Background())
	context.AfterFunc(ctx, func() {
		limit := time.NewTimer(p.drain + exitTimeout)
		defer limit.Stop()
		select {
		case <-returned.Done():
		case <-limit.C:
			log.Error("requests in flight were cut off at the end of the drain", "drain", p.drain)
			os.Exit(exitCutOff)
		}
	})
	return stop
}

// logger returns a logger to w and makes it the default.
func (p *process) logger(w io.Writer) (*slog.Logger, error) {
	options := &slog.HandlerOptions{Level: p.level}
	var form slog.Handler
	switch p.format {
	case "text":
		form = slog.NewTextHandler(w, options)
	case "json":
		form = slog.NewJSONHandler(w, options)
	default:
		return nil, fmt.Errorf("--log-format: want text or json, got %q", p.format)
	}
	if err := p.checkHosts(); err != nil {
		return nil, err
	}
	log := slog.New(bus.LogHandler(form))
	slog.SetDefault(log)
	return log, nil
}

// backends holds the flags of the services.
type backends struct {
	services.Config
	analyses int // MiB
	estates  int // MiB
	// MiB of each tenant
	tenantTags, tenantRecords int64
}

func (b *backends) flags(f *pflag.FlagSet) {
	b.Config = services.Defaults()
	c := &b.Config
	f.StringVar(&c.Index, "index", c.Index, "`URL` of the search index: embedded:, in the memory of each worker, or http://elasticsearch:9200, shared by all workers")
	f.StringVar(&c.Embed, "embed", c.Embed, "`URL` of the embedding model: ollama://host:11434/name, or lexical:, which hashes words and needs no server")
	f.StringVar(&c.Model, "model", c.Model, "`URL` of the language model: ollama://host:11434/name, openai://host:8000/name, or offline:, a rule-based planner that needs no model")
	f.StringVar(&c.Render, "render", c.Render, "NATS `SUBJECT` of the rendering agent that rewrites answers; empty: answers of the model are returned as they are")
	f.DurationVar(&c.TagTTL, "tag-ttl", c.TagTTL, "default time to live of tags")
	f.Int64Var(&c.TenantTags.Count, "tenant-tags", c.TenantTags.Count, "maximum number of `TAGS` per tenant, the global scope counting as one; further writes are answered with 429; 0: unlimited")
	f.Int64Var(&b.tenantTags, "tenant-tags-size", c.TenantTags.Bytes>>20, "maximum `MIB` of tags per tenant; 0: unlimited")
	f.Int64Var(&c.TenantRecords.Count, "tenant-records", c.TenantRecords.Count, "maximum number of `RECORDS` per tenant, the global scope counting as one; further registrations are answered with 429; 0: unlimited")
	f.Int64Var(&b.tenantRecords, "tenant-records-size", c.TenantRecords.Bytes>>20, "maximum `MIB` of records per tenant; 0: unlimited")
	f.IntVar(&c.Slots, "slots", c.Slots, "maximum concurrent requests per service; further ones are answered with 503")
	f.IntVar(&b.analyses, "analysis-memory", 0, "memory budget of all analyses in `MIB`, shared fairly among tenants; analyses beyond it are answered with 503; 0: a quarter of the memory limit (cgroup or GOMEMLIMIT; 4 GiB if unset)")
	f.DurationVar(&c.Grace, "analyze-grace", c.Grace, "grace period for which an analysis continues after its client disconnected, so that it can be resumed")
	f.IntVar(&b.estates, "estate-memory", int(c.EstateMemory>>20), "maximum size in `MIB` of the cache of parsed estates, within the unused part of --analysis-memory")
}

// streamFlags defines the flags of the JetStream streams.
func streamFlags(f *pflag.FlagSet, s *services.Config) {
	f.BoolVar(&s.TagMemory, "tag-memory", s.TagMemory, "store tags in memory: faster, but lost when the NATS server stops")
	f.BoolVar(&s.TagSync, "tag-sync", s.TagSync, "sync each tag to disk before acknowledging it, so that it survives a power failure; like --tag-memory, fixed when the bucket is created")
	c := &s.Copies
	f.IntVar(&c.Replicas, "replicas", 0, "number of JetStream replicas (NATS `SERVERS`) of each stream; 0: unchanged, initially 1, or 3 with --cluster")
	f.StringSliceVar(&c.Tags, "placement-tags", nil, "place streams only on NATS servers with all of these `TAGS`")
	f.Var(mebibytes{&c.Storage.Bytes}, "storage-limit", "maximum storage in `MIB` on each NATS server: 50 % records, 25 % tags, 10 % cached vectors, 4 % quarantined records, 1 % keys; 0: the limit of the NATS account, 75 % of the free disk of the embedded server, or 4096")
	f.StringVar(&c.Cluster, "placement-cluster", "", "place streams only in this NATS `CLUSTER`")
}

// settings returns the configuration of the services, or the first invalid flag.
func (b *backends) settings(p process, log *slog.Logger) (services.Config, error) {
	c := b.Config
	c.AnalysisMemory, c.EstateMemory = memoryShare(b.analyses, 4), int64(b.estates)<<20
	c.Log, c.Drain = log, p.drain
	c.TenantTags.Bytes, c.TenantRecords.Bytes = b.tenantTags<<20, b.tenantRecords<<20
	return c, cmp.Or(
		flags.AtLeast("slots", c.Slots, 1),
		flags.AtLeast("analysis-memory", c.AnalysisMemory>>20, minBudget>>20),
		flags.AtLeast("stream-limit", c.StreamLimit, 0),
		flags.AtLeast("analyze-grace", c.Grace, 0),
		flags.AtLeast("estate-memory", b.estates, 0),
		checkStreams(c),
		flags.AtLeast("tenant-tags", c.TenantTags.Count, 0),
		flags.AtLeast("tenant-tags-size", b.tenantTags, 0),
		flags.AtLeast("tenant-records", c.TenantRecords.Count, 0),
		flags.AtLeast("tenant-records-size", b.tenantRecords, 0),
		flags.AtLeast("tag-ttl", c.TagTTL, time.Second),
		flags.AtLeast("drain", p.drain, 0),
	)
}

// mebibytes is a flag value in MiB, stored in bytes.
type mebibytes struct{ bytes *int64 }

// Set implements pflag.Value.
func (m mebibytes) Set(text string) error {
	n, err := strconv.ParseUint(text, 10, 40)
	if err != nil {
		return errors.New("want a number of MiB")
	}
	*m.bytes = int64(n) << 20
	return nil
}

// String implements pflag.Value.
func (m mebibytes) String() string {
	if m.bytes == nil {
		return "0"
	}
	return strconv.FormatInt(*m.bytes>>20, 10)
}

// Type implements pflag.Value.
func (m mebibytes) Type() string { return "int" }

// checkStreams validates the values of streamFlags.
func checkStreams(c services.Config) error {
	if c.TagMemory && c.TagSync {
		return errors.New("--tag-memory and --tag-sync are mutually exclusive")
	}
	return flags.AtLeast("replicas", c.Copies.Replicas, 0)
}

// edgeFlags holds the flags of an edge.
type edgeFlags struct {
	accessFlags
	http         string
	cert, key    string // files
	retryTimeout time.Duration
	bodies       int // MiB
}

func (e *edgeFlags) flags(f *pflag.FlagSet) {
	f.StringVar(&e.http, "http", "127.0.0.1:8080", "listen `ADDRESS` for HTTP; port 0 chooses a free port")
	f.StringVar(&e.cert, "tls-cert", "", "`FILE` with the PEM certificate for HTTPS, reloaded when it changes; empty: plain HTTP")
	f.StringVar(&e.key, "tls-key", "", "`FILE` with the private key of --tls-cert")
	e.accessFlags.flags(f)
	f.DurationVar(&e.retryTimeout, "analyze-timeout", bus.Analyze.Timeout, "timeout of an analysis; at most 2m0s")
	f.IntVar(&e.bodies, "body-memory", 0, "memory budget of request bodies in `MIB`, shared fairly among tenants; requests beyond it are answered with 503; 0: an eighth of the memory limit (cgroup or GOMEMLIMIT; 4 GiB if unset)")
}

// config returns the configuration of the edge. The caller closes its listener.
func (e *edgeFlags) config(p process, log *slog.Logger) (edge.Config, error) {
	c := edge.Config{Log: log, Drain: p.drain, BodyMemory: memoryShare(e.bodies, 8), AnalyzeTimeout: e.retryTimeout, NoMetrics: p.metrics != "", Cert: e.cert, Key: e.key, Hosts: p.hosts}
	var err error
	if c.Access, err = e.accessFlags.config(e.http); err != nil {
		return c, err
	}
	err = cmp.Or(flags.AtLeast("analyze-timeout", e.retryTimeout, time.Millisecond), flags.AtMost("analyze-timeout", e.retryTimeout, bus.Analyze.Timeout))
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
