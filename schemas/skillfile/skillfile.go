// Package skillfile describes skills as SKILL.md files of the Agent Skills specification
// (agentskills.io): their name and their frontmatter.
package skillfile

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

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
)

// Frontmatter is the head of a SKILL.md that is rendered from a record.
type Frontmatter struct {
	Name        string            `json:"name"`
	Description string            `json:"description"`
	License     string            `json:"license,omitzero"`
	Metadata    map[string]string `json:"metadata"`
}

// FrontmatterOf returns the frontmatter of a skill.
func FrontmatterOf(s schemas.Skill) Frontmatter {
	return Frontmatter{Name(s.SkillID), Description(s), OneLine(s.License), metadata(s)}
}

// YAML returns the frontmatter with its delimiters. Its values are JSON strings, which all
// YAML parsers read alike.
func (f Frontmatter) YAML() ([]byte, error) {
	lines := [][2]string{{"name", f.Name}, {"description", f.Description}}
	if f.License != "" {
		lines = append(lines, [2]string{"license", f.License})
	}
	lines = append(lines, [2]string{"metadata", ""})
	for _, name := range slices.Sorted(maps.Keys(f.Metadata)) {
		lines = append(lines, [2]string{"  " + name, f.Metadata[name]})
	}
	text := []byte("---\n")
	for _, line := range lines {
		text = append(text, line[0]+":"...)
		if line[1] != "" {
			quoted, err := jsontext.AppendQuote(nil, line[1])
			if err != nil {
				return nil, err
			}
			text = append(append(text, ' '), quoted...)
		}
		text = append(text, '\n')
	}
	return append(text, "---\n"...), nil
}

// Name returns the name of a skill in the Agent Skills specification: its id with
// hyphens between the letters and digits. It ends in a hash where that loses more than
// punctuation and case, so that few names are the same.
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

// metadata returns the metadata of the frontmatter. The labels are a selector.
func metadata(s schemas.Skill) map[string]string {
	m := map[string]string{MetadataID: s.SkillID}
	if s.Version != "" {
		m[MetadataVersion] = s.Version
	}
	if len(s.Labels) > 0 {
		m[MetadataLabels] = OneLine(strings.Join(schemas.LabelTerms(s.Labels), ","))
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
	if utf8.RuneCountInString(text) > MaxDescription {
		text = string([]rune(text)[:MaxDescription-1]) + "…"
	}
	return text
}

// OneLine replaces white space and characters that YAML forbids by single spaces.
func OneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) }), " ")
}
