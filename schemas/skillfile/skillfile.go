// Package skillfile describes skills as SKILL.md files of the Agent Skills specification
// (agentskills.io): their name and their frontmatter.
package skillfile

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas"
)

// FileName is the name of the file in the directory of the skill.
const FileName = "SKILL.md"

// Limits of the specification, in characters.
const (
	MaxName          = 64
	MaxDescription   = 1024
	MaxCompatibility = 500
)

// Names in the metadata of a frontmatter that are fields of the record.
const (
	MetadataID      = "skill_id"
	MetadataVersion = "version"
	MetadataLabels  = "labels" // a selector

	// The status of a skill that is not active.
	MetadataStatus     = "status"
	MetadataReplacedBy = "replaced_by"
)

// Frontmatter is the head of a SKILL.md that is rendered from a record.
type Frontmatter struct {
	Name          string            `json:"name"`
	Description   string            `json:"description"`
	License       string            `json:"license,omitzero"`
	Compatibility string            `json:"compatibility,omitzero"`
	AllowedTools  string            `json:"allowed-tools,omitzero"`
	Metadata      map[string]string `json:"metadata"`
}

// Imported contains the additional fields of a record that was imported from a SKILL.md. Fields of
// another type are ignored, because records of other sources may use the same names.
type Imported struct {
	Name          string
	Compatibility string
	AllowedTools  string
	SourceVersion string
	Metadata      map[string]string
}

// ImportedOf returns the fields of the record.
func ImportedOf(record []byte) (f Imported) {
	var fields struct { // a map would copy the instructions
		Name          jsontext.Value `json:"name"`
		Compatibility jsontext.Value `json:"compatibility"`
		AllowedTools  jsontext.Value `json:"allowed_tools"`
		SourceVersion jsontext.Value `json:"source_version"`
		Metadata      jsontext.Value `json:"metadata"`
	}
	if json.Unmarshal(record, &fields) != nil {
		return f
	}
	_ = json.Unmarshal(fields.Name, &f.Name)
	_ = json.Unmarshal(fields.Compatibility, &f.Compatibility)
	_ = json.Unmarshal(fields.AllowedTools, &f.AllowedTools)
	_ = json.Unmarshal(fields.SourceVersion, &f.SourceVersion)
	if json.Unmarshal(fields.Metadata, &f.Metadata) != nil {
		f.Metadata = nil
	}
	return f
}

// FrontmatterOf returns the frontmatter of a skill and its record.
func FrontmatterOf(s schemas.Skill, record []byte) Frontmatter {
	f := ImportedOf(record)
	return Frontmatter{
		f.nameOf(s.SkillID), Description(s), OneLine(s.License), truncate(OneLine(f.Compatibility), MaxCompatibility),
		OneLine(f.AllowedTools), metadata(s, f),
	}
}

// validName matches the names of the specification that consist of ASCII characters, as in a URI.
var validName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// NameOf returns the name in the SKILL.md from which the skill was imported, or else the name that
// Name derives from its id. Skills with different ids may have the same name.
func NameOf(id string, record []byte) string { return ImportedOf(record).nameOf(id) }

func (f Imported) nameOf(id string) string {
	if len(f.Name) <= MaxName && validName.MatchString(f.Name) {
		return f.Name
	}
	return Name(id)
}

// plainKeys are names of metadata that YAML reads as text without quotes.
var plainKeys = []string{MetadataID, MetadataVersion, MetadataLabels, MetadataStatus, MetadataReplacedBy}

// YAML returns the frontmatter with its delimiters. Its values are JSON strings, which all
// YAML parsers read alike.
func (f Frontmatter) YAML() ([]byte, error) {
	var failed error
	quote := func(text string) string {
		quoted, err := jsontext.AppendQuote(nil, text)
		failed = errors.Join(failed, err)
		return string(quoted)
	}
	text := "---\nname: " + quote(f.Name) + "\ndescription: " + quote(f.Description) + "\n"
	for _, line := range [][2]string{{"license", f.License}, {"compatibility", f.Compatibility},
		{"allowed-tools", f.AllowedTools}} {
		if line[1] != "" {
			text += line[0] + ": " + quote(line[1]) + "\n"
		}
	}
	text += "metadata:\n"
	for _, name := range slices.Sorted(maps.Keys(f.Metadata)) {
		key := name
		if !slices.Contains(plainKeys, name) {
			key = quote(name)
		}
		text += "  " + key + ": " + quote(f.Metadata[name]) + "\n"
	}
	return []byte(text + "---\n"), failed
}

// Name returns the name of a skill in the Agent Skills specification: its id with
// hyphens between the letters and digits. If it differs from the id in more than punctuation and
// case, it ends in a hash, so that names rarely collide.
func Name(id string) string {
	var b strings.Builder
	lossy := false
	for _, r := range strings.ToLower(id) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		lossy = lossy || r > unicode.MaxASCII
	}
	name := strings.Trim(b.String(), "-")
	if name != "" && len(name) <= MaxName && !lossy {
		return name
	}
	sum := sha256.Sum256([]byte(id))
	suffix := hex.EncodeToString(sum[:4])
	name = strings.Trim(name[:min(len(name), MaxName-len(suffix)-1)], "-")
	return strings.TrimPrefix(name+"-"+suffix, "-")
}

// metadata returns the metadata of the frontmatter: the metadata of the import, and fields of the
// record. The labels are a selector.
func metadata(s schemas.Skill, f Imported) map[string]string {
	m := map[string]string{}
	maps.Copy(m, f.Metadata)
	m[MetadataID] = s.SkillID
	if version := cmp.Or(s.Version, f.SourceVersion); version != "" {
		m[MetadataVersion] = version
	}
	if len(s.Labels) > 0 {
		m[MetadataLabels] = OneLine(strings.Join(schemas.LabelTerms(s.Labels), ","))
	}
	if s.Status != "" && s.Status != schemas.StatusActive {
		m[MetadataStatus] = s.Status
	}
	if s.ReplacedBy != "" {
		m[MetadataReplacedBy] = s.ReplacedBy
	}
	return m
}

// Description returns the description of the frontmatter, on one line.
func Description(s schemas.Skill) string {
	var parts []string
	for _, part := range []string{s.Purpose, s.Description} {
		if part = OneLine(part); part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 2 && !strings.ContainsAny(parts[0][len(parts[0])-1:], ".!?:;,") {
		parts[0] += "."
	}
	text := cmp.Or(strings.Join(parts, " "), OneLine(s.DisplayName), s.SkillID)
	return truncate(text, MaxDescription)
}

// truncate returns at most maximum characters of the text.
func truncate(text string, maximum int) string {
	if utf8.RuneCountInString(text) > maximum {
		text = string([]rune(text)[:maximum-1]) + "…"
	}
	return text
}

// OneLine replaces white space and characters that YAML forbids by single spaces.
func OneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsGraphic(r)
	}), " ")
}
