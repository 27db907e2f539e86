package services

import (
	"context"
	"log/slog"
	"time"

	"cairn/bus"
	"cairn/bus/bucket"
	"cairn/services/internal/quota"
)

// Config says which services run and with which backends. Every backend is a
// URL, decided here and nowhere below.
type Config struct {
	Roles  []string      // the services to run; none: all
	Index  string        // embedded: (in memory, from the log) | http://host:9200
	Embed  string        // lexical: (no server) | ollama://host:11434/nomic-embed-text
	Model  string        // offline: | ollama://host:11434/qwen3:8b | openai://host:8000/Qwen/Qwen3-8B
	Render string        // subject of the rendering agent, cairn.render for the one that comes with Cairn; empty: none
	TagTTL time.Duration // how long a tag lives

	// TagMemory keeps tags off the disk: they end with the NATS server.
	TagMemory bool
	// TagSync has each tag on disk before it is acknowledged.
	TagSync bool
	// TenantTags and TenantRecords are the most that each tenant may store, the
	// global scope being one; 0: any number.
	TenantTags    quota.Use
	TenantRecords quota.Use
	Copies        bucket.Copies // which NATS servers keep each record and tag; without Storage, the limit of the NATS account applies
	Slots         int           // requests at a time, per service
	Grace         time.Duration // how long an analysis goes on when nobody listens
	StreamLimit   int           // analyses in progress that one credential may have at a worker; 0: any number
	// AnalysisMemory bounds the bytes that all analyses of a worker hold, and
	// EstateMemory those of estates cached for the next question, in memory that
	// no analysis has reserved.
	AnalysisMemory int64
	EstateMemory   int64
	Drain          time.Duration // how long requests in flight may take at the end
	// Cutoff ends the drain before Drain has passed, when it ends; nil: never. Parts
	// of a process that stop one after the other so share one deadline.
	Cutoff context.Context
	Log    *slog.Logger
}

// Defaults is what runs without any server beside it.
func Defaults() Config {
	return Config{
		Index:          "embedded:",
		Embed:          "lexical:",
		Model:          "offline:",
		TenantTags:     quota.Use{Count: 5_000_000, Bytes: 2 << 30},
		TenantRecords:  quota.Use{Count: 1_000_000, Bytes: 4 << 30},
		TagTTL:         30 * time.Minute,
		Slots:          1024,
		AnalysisMemory: 1 << 30,
		Grace:          bus.Analyze.Grace,
		EstateMemory:   256 << 20,
		Drain:          25 * time.Second,
		Log:            slog.Default(),
	}
}
