// Package importer translates sources of other formats to records: folders of skills, MCP
// servers and registries, OpenAPI documents, A2A agent cards, and other Cairns. It reads
// sources and writes nothing.
//
// A source is read within limits: a document or response has at most 32 MiB, a source at most
// 10,000 records. Parts that are invalid are records whose Validate returns the error.
package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/records"
	"cairn/schemas"
	"cairn/schemas/member"
)

const (
	// maxDocument bounds a document, or the responses of a server to one request, in bytes.
	maxDocument = 32 << 20
	// maxRecords bounds the records of a source.
	maxRecords = 10_000
	// maxTotal bounds the records of a source together, in bytes.
	maxTotal = 128 << 20
	// DefaultTimeout bounds the time to read a source.
	DefaultTimeout = 2 * time.Minute
)

// Options name a source.
type Options struct {
	// Source is the path of a file or directory, or a URL; empty with Command.
	Source string
	// Command starts an MCP server that communicates over stdin and stdout.
	Command []string
	// Format is one of Formats; empty: it is detected.
	Format string
	// Name is the provenance of the records; empty: the source.
	Name string
	// Key is sent to the host of the URL as a bearer token.
	Key string
	// SourceTenant is the tenant whose records are read from another Cairn; empty: global ones.
	SourceTenant string
	// Domain is the first segment of the ids of skills; empty: skills.
	Domain string
	// ID is IDPath for ids of skills with the path of their directory instead of their name.
	ID string
	// Agents adds an agent for each MCP server.
	Agents bool
	// Strict rejects skills that the reference validator rejects, and those with files that exceed the limits of
	// a record; otherwise they give warnings.
	Strict bool
	// Timeout bounds the time to read the source; 0: DefaultTimeout.
	Timeout time.Duration
	// Read is called with the number of further records that were read.
	Read func(n int)
	// Stderr receives the log of Command.
	Stderr io.Writer
}

// entry is a record of a source, with its location there for messages.
type entry struct {
	location string
	text     jsontext.Value
	err      error
	// exported is set for a record that Cairn has exported: it keeps its own provenance.
	exported bool
	warnings []schemas.FieldError
	omitted  []string // files that exceed the limits of a record
}

// entryOf returns the entry of a record, a Go value.
func entryOf(location string, record any) entry {
	text, err := json.Marshal(record, json.Deterministic(true))
	return entry{location: location, text: text, err: err}
}

// invalid returns an entry with an error for an invalid part of the source.
func invalid(location, message string, args ...any) entry {
	return entry{location: location, err: fmt.Errorf(message, args...)}
}

// tooMany returns an error if the entries exceed the limits of a source.
func tooMany(list []entry) error {
	total := 0
	for _, e := range list {
		total += len(e.text)
	}
	if len(list) > maxRecords || total > maxTotal {
		return flags.Usage(fmt.Errorf("expected at most %d records and %d bytes, got %d records and %d bytes",
			maxRecords, maxTotal, len(list), total))
	}
	return nil
}

// format reads the records of a source.
type format func(ctx context.Context, s *source) ([]entry, error)

var formats = map[string]format{
	formatSkills: readSkills, formatMCP: readMCP, formatServer: readServerFile, formatRegistry: readRegistry,
	formatOpenAPI: readOpenAPI, formatCard: readAgentCard, formatCairn: readCairn,
}

// Names of the formats.
const (
	formatSkills   = "skills"
	formatMCP      = "mcp"
	formatServer   = "server-json"
	formatRegistry = "mcp-registry"
	formatOpenAPI  = "openapi"
	formatCard     = "agent-card"
	formatCairn    = "cairn"
)

// Values of Options.ID.
const (
	IDName = "name"
	IDPath = "path"
)

// Formats returns the names of the formats, sorted.
func Formats() []string { return slices.Sorted(maps.Keys(formats)) }

// Result is the outcome of reading a source.
type Result struct {
	Name    string // provenance of the records
	Format  string
	Records []records.Record
	// Omitted names the files that exceed the limits of a record, a line for each record.
	Omitted []string
}

// ErrUnauthenticated is the error of a source that rejects the key of the options.
var ErrUnauthenticated = errors.New("authentication failed")

// sourceError adds the name of the source to an error.
func sourceError(name string, err error) error {
	var status *connect.DownloadError
	if errors.Is(err, schemas.ErrUnauthenticated) ||
		errors.As(err, &status) && status.StatusCode == http.StatusUnauthorized {
		err = fmt.Errorf("%w: %w", ErrUnauthenticated, err)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// Read reads the records of a source, for a tenant or, if that is empty, the global scope.
func Read(ctx context.Context, o Options, tenant string) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(o.Timeout, DefaultTimeout))
	defer cancel()
	s, err := newSource(o)
	if err != nil {
		return Result{}, err
	}
	r := Result{Name: s.name(), Format: o.Format}
	if r.Format == "" {
		if r.Format, err = s.detect(ctx); err != nil {
			return r, sourceError(r.Name, err)
		}
	}
	list, err := formats[r.Format](ctx, s)
	if err == nil {
		err = tooMany(list)
	}
	switch {
	case err != nil:
		return r, sourceError(r.Name, err)
	case len(list) == 0:
		return r, flags.Usage(fmt.Errorf("%s: no records in the format %s", r.Name, r.Format))
	}
	for _, e := range list {
		if len(e.omitted) > 0 {
			r.Omitted = append(r.Omitted, e.location+": omitted "+strings.Join(bounded(e.omitted), ", "))
		}
	}
	r.Records = r.records(list, tenant)
	return r, nil
}

// records returns the records of the entries with their provenance. A record whose id already
// occurred is invalid.
func (r Result) records(list []entry, tenant string) []records.Record {
	parsed := make([]records.Record, len(list))
	seen := map[[2]string]string{}
	for i, e := range list {
		if e.err == nil && !e.exported {
			e.text, e.err = member.Append(e.text, member.Member{Name: "source", Value: r.Name})
		}
		parsed[i] = records.ParsedRecord{Source: e.location, Text: e.text, Err: e.err}.Record(tenant)
		parsed[i].Warnings = e.warnings
		key := [2]string{parsed[i].Kind, parsed[i].ID}
		if first := seen[key]; first != "" && e.err == nil {
			err := fmt.Errorf("expected different ids, got %s and %s, which have the same id, %s", first, e.location,
				parsed[i].ID)
			if r.Format == formatSkills {
				err = fmt.Errorf("%w; --id path derives ids from the paths", err)
			}
			parsed[i] = records.ParsedRecord{Source: e.location, Err: err}.Record(tenant)
		}
		seen[key] = e.location
	}
	return parsed
}
