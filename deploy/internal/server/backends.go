package server

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"cairn/bus"
	"cairn/bus/audit"
	"cairn/deploy/internal/flags"
	"cairn/schemas"
	"cairn/services"
)

// backends holds the flags of the services.
type backends struct {
	services.Config
}

func (b *backends) flags(f *pflag.FlagSet) {
	b.Config = services.Defaults()
	c := &b.Config
	c.AnalysisMemory = 0 // settings derives it
	f.StringVar(&c.Index, "index", c.Index,
		"`URL` of the search index: embedded:, in the memory of each worker, or http://elasticsearch:9200, shared by all workers")
	f.StringVar(&c.Embed, "embed", c.Embed,
		"`URL` of the embedding model: static:, a built-in table of token vectors, static:DIRECTORY, lexical:, which hashes words, or ollama://host:11434/name")
	f.StringVar(&c.Model, "model", c.Model,
		"`URL` of the language model: ollama://host:11434/name, openai://host:8000/name, or offline:, a rule-based planner that needs no model")
	f.StringVar(&c.Render, "render", c.Render,
		"NATS `SUBJECT` of the rendering agent that rewrites answers; empty: answers of the model are returned unchanged")
	f.DurationVar(&c.TagTTL, "tag-ttl", c.TagTTL, "default and maximum time to live of tags")
	f.Int64Var(&c.TenantTags.Count, "tenant-tags", c.TenantTags.Count,
		"maximum number of `TAGS` per tenant, the global scope counting as one; further writes are answered with 429; 0: only their size is limited")
	mebibytes(f, &c.TenantTags.Bytes, "tenant-tags-size",
		"maximum `MIB` of tags per tenant, and at most 80 % of the storage for tags; 0: only the latter")
	f.Int64Var(&c.TenantRecords.Count, "tenant-records", c.TenantRecords.Count,
		"maximum number of `RECORDS` per tenant, the global scope counting as one; further registrations are answered with 429; 0: unlimited")
	mebibytes(f, &c.TenantRecords.Bytes, "tenant-records-size",
		"maximum `MIB` of records per tenant, including 256 bytes for each list entry, and at most 80 % of the storage for records; 0: a 32nd of the memory limit (cgroup or GOMEMLIMIT; the memory of the machine if unset)")
	f.IntVar(&c.Slots, "slots", c.Slots,
		"maximum concurrent requests per service; further ones are retried at other workers, then answered with 503")
	mebibytes(f, &c.AnalysisMemory, "analysis-memory",
		"memory budget of all analyses in `MIB`, shared fairly among tenants; analyses beyond it are answered with 503; 0: a quarter of the memory limit (cgroup or GOMEMLIMIT; 4 GiB if unset)")
	f.DurationVar(&c.Grace, "analyze-grace", c.Grace,
		"grace period for which an analysis continues after its client disconnected, so that it can be resumed")
	mebibytes(f, &c.EstateMemory, "estate-memory",
		"maximum size in `MIB` of the cache of parsed estates, within the unused part of --analysis-memory")
}

// streamFlags defines the flags of the JetStream streams.
func streamFlags(f *pflag.FlagSet, s *services.Config) {
	f.BoolVar(&s.TagMemory, "tag-memory", s.TagMemory, "store tags in memory: faster, but lost when the NATS server stops")
	f.Bool("tag-sync", false, "deprecated: --sync always")
	// fails for an unknown flag
	_ = f.MarkDeprecated("tag-sync", "use --sync always of cairn up, or sync_interval: always of the NATS servers")
	c := &s.Replication
	f.IntVar(&c.Replicas, "replicas", 0,
		"number of JetStream replicas (NATS `SERVERS`) of each stream; 0: unchanged, initially 1, or 3 with --cluster")
	f.StringSliceVar(&c.Tags, "placement-tags", nil, "place streams only on NATS servers with all of these `TAGS`")
	mebibytes(f, &c.Storage.Bytes, "storage-limit",
		"maximum storage in `MIB` on each NATS server: 50 % records, 25 % tags, 10 % cached vectors, 4 % quarantined records, 1 % keys, 8 % earlier revisions of records, 1 % counts of their uses, 0.5 % summaries of analyses, 0.5 % audit log; 0: the limit of the NATS account, 75 % of the free disk of the embedded server, or 4096")
	f.DurationVar(&s.RunRetention, "run-retention", s.RunRetention,
		"how long the summaries of analyses are retained, with their questions; at least 2m, as their events")
	f.DurationVar(&s.AuditRetention, "audit-retention", s.AuditRetention,
		"maximum age `DURATION` of entries of the audit log, at least 2m; 0: until its storage is full")
	f.StringVar(&c.Cluster, "placement-cluster", "", "place streams only in this NATS `CLUSTER`")
}

// settings returns the configuration of the services, or the first invalid flag.
func (b *backends) settings(p process, log *slog.Logger) (services.Config, error) {
	c := b.Config
	c.AnalysisMemory = memoryShare(c.AnalysisMemory, 4)
	c.TenantRecords.Bytes = recordsShare(c.TenantRecords.Bytes)
	c.Log, c.Drain = log, p.drain
	return c, cmp.Or(
		flags.AtLeast("slots", c.Slots, 1),
		flags.AtLeast("analysis-memory", c.AnalysisMemory>>20, minBudget>>20),
		flags.AtLeast("stream-limit", c.StreamLimit, 0),
		flags.AtLeast("analyze-grace", c.Grace, 0),
		flags.AtLeast("replicas", c.Replication.Replicas, 0),
		checkRetention(c.AuditRetention),
		flags.AtLeast("tenant-tags", c.TenantTags.Count, 0),
		flags.AtLeast("tenant-records", c.TenantRecords.Count, 0),
		flags.AtLeast("tag-ttl", c.TagTTL, time.Second),
	)
}

// checkRetention returns an error for a value of --audit-retention that is too short.
func checkRetention(retention time.Duration) error {
	if retention == 0 {
		return nil
	}
	return flags.AtLeast("audit-retention", retention, audit.MinRetention)
}

// mebibytes defines a flag in MiB of a value in bytes, which is the default.
func mebibytes(f *pflag.FlagSet, bytes *int64, name, usage string) {
	f.Func(name, usage, func(text string) error {
		n, err := strconv.ParseUint(text, 10, 40)
		if err != nil {
			return fmt.Errorf("expected a number of MiB, got %q", text)
		}
		*bytes = int64(n) << 20
		return nil
	})
	f.Lookup(name).DefValue = strconv.FormatInt(*bytes>>20, 10)
}

// healthTimeout bounds the health check at startup.
const healthTimeout = 2 * time.Second

// degraded describes each degraded or unavailable service in one sentence.
func degraded(ctx context.Context, conn *bus.Conn, names []string) []string {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	var missing []string
	for _, name := range names {
		h, err := bus.Health(name).Call(ctx, conn, schemas.Nothing{})
		if err != nil {
			missing = append(missing, name+": "+err.Error())
		}
		for _, sentence := range h.Degraded {
			missing = append(missing, name+": "+sentence)
		}
	}
	return missing
}
