package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/deploy/internal/flags"
	"cairn/schemas"
)

// operationServer is the last segment of the id of a server. It cannot collide with a tool, since
// segment encodes @.
const operationServer = "@server"

// maxPages bounds the pages of a registry.
const maxPages = 1000

// serverFile contains the interpreted members of a server.json.
type serverFile struct {
	Name        string   `json:"name"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Version     string   `json:"version"`
	Status      string   `json:"status"`
	Packages    []object `json:"packages"`
	Remotes     []object `json:"remotes"`
	Detail      struct { // in files of the first version of the format
		Version string `json:"version"`
	} `json:"version_detail"`
}

// serverName is the pattern of names in the schema of server.json.
var serverName = regexp.MustCompile(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`)

func (f serverFile) validate() error {
	switch {
	case !serverName.MatchString(f.Name):
		return fmt.Errorf("name: expected NAMESPACE/NAME such as io.github.user/weather, got %.100q", f.Name)
	case f.Description == "":
		return errors.New("description: required, and must not be empty")
	case f.Version == "" || f.Version == "latest" || strings.ContainsAny(f.Version, "^~<>=*"):
		return fmt.Errorf("version: expected a version and no range, got %.100q", f.Version)
	}
	for i, p := range f.Packages {
		if p.text("identifier") == "" && p.text("name") == "" {
			return fmt.Errorf("packages[%d].identifier: required, and must not be empty", i)
		}
	}
	for i, r := range f.Remotes {
		if r.text("url") == "" {
			return fmt.Errorf("remotes[%d].url: required, and must not be empty", i)
		}
	}
	return nil
}

// readServerFile returns the server of a server.json as a tool.
func readServerFile(ctx context.Context, s *source) ([]entry, error) {
	doc, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(doc, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	_, list := serverEntries(s.name(), text, "", s.Agents)
	return list, nil
}

// serverEntries returns the records of a server.json: a tool that represents the server, and
// an agent if agents is true.
func serverEntries(location string, text jsontext.Value, status string, agents bool) (name string, list []entry) {
	var f serverFile
	if err := json.Unmarshal(text, &f); err != nil {
		return "", []entry{invalid(location, "expected a server.json: %w", err)}
	}
	f.Version = cmp.Or(f.Version, f.Detail.Version)
	if location = location + ": " + f.Name; f.Name == "" {
		location = strings.TrimSuffix(location, ": ")
	}
	if err := f.validate(); err != nil {
		return f.Name, []entry{{location: location, err: err}}
	}
	if status = cmp.Or(status, f.Status); status != schemas.StatusDeprecated {
		status = ""
	}
	list = []entry{entryOf(location, tool{
		ToolID: serverID(f.Name) + "." + operationServer, ToolClass: schemas.ClassMCPServer, Provider: f.Name,
		DisplayName: f.Title,
		Description: f.Description, Status: status, versioned: versionOf(f.Version), Server: text,
	})}
	if agents {
		list = append(list, entryOf(location, agent{
			AgentID: serverID(f.Name), DisplayName: f.Title, Description: f.Description, Status: status,
			versioned: versionOf(f.Version), Server: text,
		}))
	}
	return f.Name, list
}

// registryMeta is the metadata that a registry adds to a server.json.
type registryMeta struct {
	Status   string `json:"status"`
	IsLatest *bool  `json:"isLatest"`
}

// registryPage is a page of servers: objects with a server and its _meta, or, in registries of
// version 0, server.json documents.
type registryPage struct {
	Servers  []object `json:"servers"`
	Metadata object   `json:"metadata"`
}

func (p registryPage) next() string {
	return cmp.Or(p.Metadata.text("nextCursor"), p.Metadata.text("next_cursor"))
}

// readRegistry returns the newest version of each server of an MCP registry, of all its pages.
func readRegistry(ctx context.Context, s *source) ([]entry, error) {
	doc, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	servers := registryServers{agents: s.Agents, index: map[string]int{}}
	for pages := 1; ; pages++ {
		var page registryPage
		if err := decode(doc, &page); err != nil {
			return nil, flags.Usage(fmt.Errorf("expected a list of servers: %w", err))
		}
		servers.add(page)
		s.Read(len(page.Servers))
		cursor := page.next()
		if err := tooMany(servers.entries()); err != nil || cursor == "" || s.url == nil {
			return servers.entries(), err
		}
		if pages == maxPages {
			return nil, flags.Usage(fmt.Errorf("expected at most %d pages", maxPages))
		}
		if doc, err = s.page(ctx, cursor); err != nil {
			return nil, fmt.Errorf("page %d: %w", pages+1, err)
		}
	}
}

// registryServers collects the newest version of each server.
type registryServers struct {
	agents bool
	list   [][]entry
	index  map[string]int // in list, by name
}

func (r *registryServers) add(page registryPage) {
	for _, item := range page.Servers {
		text := item["server"]
		if text.Kind() != jsontext.KindBeginObject {
			text, _ = json.Marshal(item, json.Deterministic(true)) // it was decoded from JSON
		}
		var meta map[string]registryMeta
		_ = json.Unmarshal(item["_meta"], &meta) // other members have other types
		official := meta["io.modelcontextprotocol.registry/official"]
		if official.Status == "deleted" || official.IsLatest != nil && !*official.IsLatest {
			continue
		}
		name, list := serverEntries(fmt.Sprintf("server %d", len(r.list)+1), text, official.Status, r.agents)
		if i, ok := r.index[name]; ok && name != "" {
			r.list[i] = list // a newer version
			continue
		}
		r.index[name] = len(r.list)
		r.list = append(r.list, list)
	}
}

func (r *registryServers) entries() []entry { return slices.Concat(r.list...) }
