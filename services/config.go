package services

import (
	"context"
	"log/slog"
	"time"

	"cairn/bus"
	"cairn/bus/audit"
	"cairn/bus/bucket"
	"cairn/services/analyze"
	"cairn/services/internal/quota"
	"cairn/services/tags"
)

// Config configures the services of a process and their backends. Each backend is given
// as a URL.
type Config struct {
	Roles  []string      // the services to run; none: all
	Index  string        // embedded: (in memory, from the log) | http://host:9200
	Embed  string        // static: | static:DIRECTORY | lexical: | ollama://host:11434/nomic-embed-text
	Model  string        // offline: | ollama://host:11434/qwen3:8b | openai://host:8000/Qwen/Qwen3-8B
	Render string        // subject of the rendering agent, cairn.render for the built-in one; empty: none
	TagTTL time.Duration // default and maximum TTL of a tag

	// TagMemory stores tags in memory: they are lost when the NATS server stops.
	TagMemory bool
	// TenantTags and TenantRecords are the quotas of each tenant, and of the global scope;
	// 0: unlimited.
	TenantTags    quota.Amount
	TenantRecords quota.Amount
	// replication and placement of records and tags; without Storage, the limit of the NATS account applies
	Replication bucket.Replication
	// AuditRetention is the time for which entries of the audit log are retained; 0: until its storage is full.
	AuditRetention time.Duration
	Slots          int           // concurrency limit of each service
	Grace          time.Duration // how long an analysis continues after its client has disconnected
	RunRetention   time.Duration // how long the summaries of analyses are retained
	StreamLimit    int           // concurrent analyses of one credential at a worker; 0: unlimited
	// AnalysisMemory limits the bytes that all analyses of a worker hold. EstateMemory
	// limits the estates that it caches for further questions, in memory that no
	// analysis has reserved.
	AnalysisMemory int64
	EstateMemory   int64
	Drain          time.Duration // timeout of the graceful shutdown
	// DrainContext ends the drain early when it is done; nil: never. Components of a process
	// that stop in sequence share one deadline through it.
	DrainContext context.Context
	Log          *slog.Logger
}

// Defaults returns a configuration that needs no external backend.
func Defaults() Config {
	return Config{
		Index:          "embedded:",
		Embed:          "static:",
		Model:          "offline:",
		TenantTags:     quota.Amount{Bytes: 2 << 30},
		TenantRecords:  quota.Amount{Count: 1_000_000},
		TagTTL:         tags.DefaultTTL,
		AuditRetention: audit.DefaultRetention,
		Slots:          1024,
		AnalysisMemory: 1 << 30,
		Grace:          bus.Analyze.Grace,
		RunRetention:   analyze.DefaultRetention,
		EstateMemory:   256 << 20,
		Drain:          25 * time.Second,
		Log:            slog.Default(),
	}
}
