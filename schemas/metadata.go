package schemas

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"

	"cairn/schemas/member"
)

// Values of Metadata.Status. Search and listings exclude records with any other status, like drafts;
// links reach them.
const (
	StatusDraft      = "draft"
	StatusActive     = "active"
	StatusDeprecated = "deprecated"
	StatusRetired    = "retired"
)

// Metadata contains the fields that records of all kinds share.
type Metadata struct {
	Version string            `json:"version,omitzero" doc:"semantic version (semver 2.0.0)"`
	Labels  map[string]string `json:"labels,omitempty" doc:"names and values to select records by"`
	Status  string            `json:"status,omitzero" doc:"draft, active (default), deprecated or retired"`
	// ReplacedBy names a record of the same kind.
	ReplacedBy string `json:"replaced_by,omitzero" doc:"id of the record to use instead of a deprecated or retired one"`
	// Source is the provenance of an imported record.
	Source string `json:"source,omitzero" doc:"where the record was imported from, such as a URL"`
}

// Searchable reports whether search and listings include records with the status. An
// empty status is active.
func Searchable(status string) bool {
	return status == "" || status == StatusActive || status == StatusDeprecated
}

var statuses = []string{StatusDraft, StatusActive, StatusDeprecated, StatusRetired}

// Linkable reports whether links reach records with the status.
func Linkable(status string) bool { return status != StatusDraft && status != StatusRetired }

// Resource is a small file that belongs to a skill.
type Resource struct {
	Path      string  `json:"path" doc:"relative, with slashes, such as scripts/check.py"`
	MediaType string  `json:"media_type,omitzero"`
	Text      *string `json:"text,omitzero" doc:"content of a text file; GET /records/skill/{id} alone returns it"`
	Data      *string `json:"data,omitzero" doc:"content of any other file in base64; GET /records/skill/{id} alone returns it"`
	SHA256    string  `json:"sha256,omitzero" doc:"digest of the content in lower-case hexadecimal; computed if absent"`
	Size      *int    `json:"size,omitzero" doc:"length of the content in bytes; computed if absent"`
	// Executable restores the mode of the file when the skill is exported.
	Executable bool `json:"executable,omitzero" doc:"whether the file is executable"`
}

// Content returns the decoded content of the resource.
func (r Resource) Content() ([]byte, error) {
	switch {
	case r.Text != nil && r.Data == nil:
		return []byte(*r.Text), nil
	case r.Data != nil && r.Text == nil:
		return base64.StdEncoding.DecodeString(*r.Data)
	default:
		return nil, errors.New("expected either text or data")
	}
}

// Digest returns the SHA-256 digest of content in lower-case hexadecimal.
func Digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

const (
	// maxInstructions is the maximum length of a skill's instructions in characters.
	maxInstructions = 100_000
	maxLabels       = 64
	maxSource       = 2048
	// MaxResources is the maximum number of resources of a skill.
	MaxResources = 100
	// MaxResourceBytes bounds the total content of a skill's resources. The whole
	// request is at most 1 MiB too, so encoded content is smaller.
	MaxResourceBytes = 1 << 20
)

// versionPattern is the pattern that semver.org suggests. labelPattern excludes the
// separators of a label selector.
const (
	versionPattern = `^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)` +
		`(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?` +
		`(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?$`
	labelPattern = `^[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?$`
)

var (
	validVersion = regexp.MustCompile(versionPattern)
	validLabel   = regexp.MustCompile(labelPattern)
)

// ValidVersion reports whether text is a semantic version, as Metadata.Version requires.
func ValidVersion(text string) bool { return len(text) <= maxID && validVersion.MatchString(text) }

// checkLabels validates that a label selector can express the names and values.
func checkLabels(c *check, field string, labels map[string]string) {
	if !c.items(field, len(labels), 0, maxLabels) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		item, value := field+"."+truncate(name, 100), labels[name]
		c.length(item, name, 1, maxID)
		if name != "" && !validLabel.MatchString(name) {
			c.fail(item, "expected a name of letters, digits, dots, slashes, - and _, that begins and ends with a letter or digit")
		}
		c.length(item, value, 0, maxID)
		if strings.ContainsFunc(value, func(r rune) bool { return r == ',' || unicode.IsControl(r) }) {
			c.fail(item, "expected a value without commas and control characters, got %q", value)
		}
	}
}

// checkResources validates the files of a skill together.
func checkResources(c *check, field string, list []Resource) {
	if len(list) > MaxResources {
		return
	}
	total, seen := 0, map[string]bool{}
	for i, r := range list {
		item := fmt.Sprintf("%s[%d]", field, i)
		addResourcePath(c, item+".path", seen, r.Path)
		content, err := r.Content()
		if err != nil {
			c.fail(item, "%v", err)
			continue
		}
		total += len(content)
		if sum := Digest(content); r.SHA256 != "" && r.SHA256 != sum {
			c.fail(item+".sha256", "expected the digest of the content, %s, got %.80q", sum, r.SHA256)
		}
		if r.Size != nil && *r.Size != len(content) {
			c.fail(item+".size", "expected the length of the content, %d, got %d", len(content), *r.Size)
		}
	}
	if total > MaxResourceBytes {
		c.fail(field, "expected at most %d bytes of content, got %d", MaxResourceBytes, total)
	}
}

// addResourcePath adds a path and its directories to those of a skill. Directories have the value false.
func addResourcePath(c *check, field string, seen map[string]bool, p string) {
	switch isFile, exists := seen[p]; {
	case isFile:
		c.fail(field, "appears twice: %q", p)
	case exists:
		c.fail(field, "is the directory of another resource: %q", p)
	}
	seen[p] = true
	for dir := range Directories(p) {
		if seen[dir] {
			c.fail(field, "is below the resource %q: %q", dir, p)
			return
		}
		seen[dir] = false
	}
}

// Directories yields the directories that contain the file of a resource, the innermost one first.
func Directories(file string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for dir := path.Dir(file); dir != "." && dir != "/" && yield(dir); dir = path.Dir(dir) {
		}
	}
}

// checkResourcePath validates a path that stays in the directory of the skill on every system.
func checkResourcePath(c *check, field, p string) {
	if !c.length(field, p, 1, maxID) {
		return
	}
	outside := path.IsAbs(p) || path.Clean(p) != p || p == "." || p == ".." || strings.HasPrefix(p, "../")
	if outside || strings.ContainsFunc(p, func(r rune) bool { return r == '\\' || r == ':' || unicode.IsControl(r) }) {
		c.fail(field, "expected a relative path with slashes and without . and .. segments, got %q", p)
	}
}

// laterFields lists the fields that earlier versions stored without interpretation, so that
// stored records may contain them with any value.
var laterFields = map[string][]string{
	KindSkill:          {"version", "labels", "replaced_by", "source", "public", "instructions", "license", "resources"},
	KindAgent:          {"version", "labels", "replaced_by", "source", "public", "agent_card"},
	KindTool:           {"version", "labels", "replaced_by", "source", "public"},
	KindContextBuilder: {"version", "labels", "replaced_by", "source", "status"},
	KindGuardrail:      {"version", "labels", "replaced_by", "source", "status"},
	KindTemplate:       {"version", "labels", "replaced_by", "source", "status", "body", "variables"},
}

// DecodeStored decodes a record of the catalog. Fields of another type that an earlier
// version did not interpret are ignored.
func DecodeStored[T any](kind string, record []byte) (fields T, err error) {
	for range len(laterFields[kind]) + 1 {
		var next T
		if err = json.Unmarshal(record, &next); err == nil {
			return next, nil
		}
		var semantic *json.SemanticError
		if !errors.As(err, &semantic) {
			return next, err
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(string(semantic.JSONPointer), "/"), "/")
		if !slices.Contains(laterFields[kind], name) {
			return next, err
		}
		if record, err = member.Without(record, name); err != nil {
			return next, err
		}
	}
	return fields, err
}
