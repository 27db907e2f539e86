package importer

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
	"golang.org/x/text/unicode/norm"

	"cairn/schemas"
	"cairn/schemas/skillfile"
)

// frontmatter is the head of a SKILL.md of the Agent Skills specification. Its scalars are
// strings regardless of their form, as in the reference validator.
type frontmatter struct {
	Name, Description, License, Compatibility string
	AllowedTools                              string
	Metadata                                  map[string]string

	problems []schemas.FieldError // of the reference validator, which rejects the file
	size     int                  // of the texts, with aliases expanded
}

// report adds a problem of the reference validator.
func (f *frontmatter) report(field, message string, args ...any) {
	f.problems = append(f.problems, schemas.FieldError{Field: field, Message: fmt.Sprintf(message, args...)})
}

// fileParts matches a SKILL.md: its frontmatter and its body.
var fileParts = regexp.MustCompile(`(?s)\A---[ \t]*\n(|.*?\n)---[ \t]*(?:\n|\z)(.*)\z`)

// parseSkillFile returns the frontmatter and the body of a SKILL.md in the directory.
func parseSkillFile(text []byte, dir string) (head frontmatter, body string, err error) {
	if text = bytes.TrimPrefix(text, []byte("\uFEFF")); !utf8.Valid(text) {
		return head, "", errors.New("expected UTF-8")
	}
	parts := fileParts.FindStringSubmatch(strings.ReplaceAll(string(text), "\r\n", "\n"))
	if parts == nil {
		return head, "", errors.New("expected YAML frontmatter between lines of ---")
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte("\n"+parts[1]), &doc); err != nil {
		text, quoted := tolerated(parts[1])
		if yaml.Unmarshal([]byte("\n"+text), &doc) != nil {
			return head, "", fmt.Errorf("frontmatter: expected valid YAML, got %w", err)
		}
		note := ""
		if len(quoted) > 0 {
			note = "; " + strings.Join(quoted, ", ") + " kept as text; quote it"
		}
		head.report("frontmatter", "expected valid YAML, got %v%s", err, note)
	}
	if doc.Kind != yaml.DocumentNode || doc.Content[0].Kind != yaml.MappingNode {
		return head, "", errors.New("frontmatter: expected a YAML mapping")
	}
	if err := head.decode(doc.Content[0]); err != nil {
		return head, "", err
	}
	return head, strings.TrimSpace(parts[2]), head.validate(dir)
}

var (
	// leadingTabs matches the indentation of a line with tabs.
	leadingTabs = regexp.MustCompile(`(?m)^ *\t[ \t]*`)
	// plainField matches a field at the top level with a value in its line, and the lines that continue it.
	plainField = regexp.MustCompile(`(?m)^([\w-]+):[ \t]+([^\s|>].*(?:\n[ \t].*|\n$)*)`)
)

// tolerated returns invalid YAML with the changes that other readers of SKILL.md files make: tabs of the
// indentation become spaces, and values that are invalid on their own, such as text with an unquoted ": ",
// become quoted strings. It returns the names of the quoted fields.
func tolerated(text string) (valid string, quoted []string) {
	text = leadingTabs.ReplaceAllStringFunc(text, func(s string) string { return strings.ReplaceAll(s, "\t", "  ") })
	valid = plainField.ReplaceAllStringFunc(text, func(field string) string {
		var value yaml.Node
		if yaml.Unmarshal([]byte(field), &value) == nil {
			return field
		}
		parts := plainField.FindStringSubmatch(field)
		quoted = append(quoted, parts[1])
		return parts[1] + ": '" + strings.ReplaceAll(strings.TrimRight(parts[2], " \t\n"), "'", "''") + "'\n"
	})
	return valid, quoted
}

// words returns the items of a list, separated by blanks.
func (f *frontmatter) words(list *yaml.Node) (string, error) {
	words := make([]string, len(list.Content))
	for i, item := range list.Content {
		text, err := f.text(resolved(item))
		if err != nil {
			return "", err
		}
		words[i] = text
	}
	return strings.Join(words, " "), nil
}

func (f *frontmatter) decode(n *yaml.Node) error {
	f.checkYAML(n)
	fields := map[string]*string{
		"name": &f.Name, "description": &f.Description, "license": &f.License, "compatibility": &f.Compatibility,
		"allowed-tools": &f.AllowedTools,
	}
	var unknown []string
	seen := map[string]bool{}
	other := map[string]string{}
	for i := 0; i < len(n.Content); i += 2 {
		name, value := n.Content[i].Value, resolved(n.Content[i+1])
		if seen[name] {
			return fmt.Errorf("frontmatter: %s appears twice", name)
		}
		seen[name] = true
		text, err := f.text(value)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		field := fields[name]
		switch {
		case name == "metadata" && (value.Kind == yaml.MappingNode || text == ""):
			if f.Metadata, err = f.members(value); err != nil {
				return fmt.Errorf("metadata: %w", err)
			}
		case name == "allowed-tools" && value.Kind == yaml.SequenceNode:
			if f.AllowedTools, err = f.words(value); err != nil {
				return fmt.Errorf("allowed-tools: %w", err)
			}
		case field == nil:
			unknown = append(unknown, name)
			other[name] = text
		case value.Kind != yaml.ScalarNode && (field == &f.Name || field == &f.Description):
			return fmt.Errorf("%s: expected a string", name)
		default:
			if value.Kind != yaml.ScalarNode {
				f.report(name, "expected a string")
			}
			*field = strings.TrimSpace(text)
		}
	}
	if len(unknown) > 0 {
		f.report("frontmatter", "expected name, description, license, compatibility, metadata (a mapping) and "+
			"allowed-tools only, got %s", strings.Join(unknown, ", "))
		maps.Copy(other, f.Metadata)
		f.Metadata = other
	}
	return nil
}

// checkYAML reports YAML features that the reference validator's subset lacks.
func (f *frontmatter) checkYAML(n *yaml.Node) {
	flow := n.Style&yaml.FlowStyle != 0 && n.Kind != yaml.ScalarNode
	if flow || n.Anchor != "" || n.Kind == yaml.AliasNode || n.Style&yaml.TaggedStyle != 0 {
		f.report("frontmatter", "expected block style without anchors and tags, got another in line %d", n.Line)
		return
	}
	for _, item := range n.Content {
		f.checkYAML(item)
	}
}

// resolved returns the node to which an alias refers.
func resolved(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// text returns a scalar as it is written, and any other value as JSON. Aliases do not multiply the size of the
// file.
func (f *frontmatter) text(n *yaml.Node) (string, error) {
	text := n.Value
	if n.Kind != yaml.ScalarNode {
		var value any
		if err := n.Decode(&value); err != nil {
			return "", err
		}
		encoded, err := json.Marshal(value, json.Deterministic(true))
		if err != nil {
			return "", err
		}
		text = string(encoded)
	}
	if f.size += len(text); f.size > 3*maxSkillFile { // a value of the metadata counts twice, as JSON it has escapes
		return "", fmt.Errorf("expected at most %d bytes with aliases expanded", 3*maxSkillFile)
	}
	return text, nil
}

// members returns the members of a mapping as texts.
func (f *frontmatter) members(n *yaml.Node) (map[string]string, error) {
	m := map[string]string{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		text, err := f.text(resolved(n.Content[i+1]))
		if err != nil {
			return nil, err
		}
		m[n.Content[i].Value] = text
	}
	return m, nil
}

// validate returns an error if the name or the description is absent. It reports the other problems.
func (f *frontmatter) validate(dir string) error {
	switch {
	case f.Name == "":
		return errors.New("name: required, and must not be empty")
	case f.Description == "":
		return errors.New("description: required, and must not be empty")
	}
	if n := utf8.RuneCountInString(f.Description); n > skillfile.MaxDescription {
		f.report("description", "expected at most %d characters, got %d", skillfile.MaxDescription, n)
	}
	if n := utf8.RuneCountInString(f.Compatibility); n > skillfile.MaxCompatibility {
		f.report("compatibility", "expected at most %d characters, got %d", skillfile.MaxCompatibility, n)
	}
	f.validateName(norm.NFKC.String(f.Name), norm.NFKC.String(dir))
	return nil
}

func (f *frontmatter) validateName(name, dir string) {
	invalid := func(r rune) bool { return r != '-' && !unicode.IsLetter(r) && !unicode.IsNumber(r) }
	switch {
	case utf8.RuneCountInString(name) > skillfile.MaxName:
		f.report("name", "expected at most %d characters, got %d", skillfile.MaxName, utf8.RuneCountInString(name))
	case name != strings.ToLower(name):
		f.report("name", "expected lower case, got %q", name)
	case strings.HasPrefix(name, "-"), strings.HasSuffix(name, "-"), strings.Contains(name, "--"):
		f.report("name", "expected single hyphens between other characters, got %q", name)
	case strings.ContainsFunc(name, invalid):
		f.report("name", "expected letters, digits and hyphens, got %q", name)
	case name != dir:
		f.report("name", "expected the name of the directory, got %q in %q", name, dir)
	}
}

// skill is a record of a skill that is imported.
type skill struct {
	SkillID      string `json:"skill_id"`
	Name         string `json:"name,omitzero"` // unless it is derived from the id
	Status       string `json:"status,omitzero"`
	ReplacedBy   string `json:"replaced_by,omitzero"`
	Description  string `json:"description"`
	Instructions string `json:"instructions,omitzero"`
	License      string `json:"license,omitzero"`
	versioned
	Labels        map[string]string  `json:"labels,omitempty"`
	Compatibility string             `json:"compatibility,omitzero"`
	AllowedTools  string             `json:"allowed_tools,omitzero"`
	Metadata      map[string]string  `json:"metadata,omitempty"`
	Resources     []schemas.Resource `json:"resources,omitempty"`
}

// record returns the record of the skill. Without an id, the id is the domain and the name, unless a Cairn has
// rendered the file, whose metadata have the id then.
func (f frontmatter) record(id, domain, body string, files []schemas.Resource) (jsontext.Value, error) {
	s := skill{
		SkillID:     cmp.Or(id, domain+"."+segment(norm.NFKC.String(f.Name))),
		Description: f.Description, Instructions: body,
		License:   f.License,
		versioned: versionOf(f.Metadata[skillfile.MetadataVersion]), Compatibility: f.Compatibility,
		AllowedTools: f.AllowedTools, Metadata: maps.Clone(f.Metadata), Resources: files,
	}
	delete(s.Metadata, skillfile.MetadataVersion)
	if rendered := f.Metadata[skillfile.MetadataID]; id == "" && rendered != "" &&
		(skillfile.Name(rendered) == f.Name || strings.HasSuffix(rendered, "."+segment(f.Name))) {
		s.SkillID = rendered
		s.Status, s.ReplacedBy = f.Metadata[skillfile.MetadataStatus], f.Metadata[skillfile.MetadataReplacedBy]
		for _, name := range []string{skillfile.MetadataID, skillfile.MetadataStatus, skillfile.MetadataReplacedBy} {
			delete(s.Metadata, name)
		}
		if labels, err := schemas.ParseLabels(f.Metadata[skillfile.MetadataLabels]); err == nil {
			s.Labels = labels
			delete(s.Metadata, skillfile.MetadataLabels)
		}
	}
	if skillfile.Name(s.SkillID) != f.Name {
		s.Name = f.Name
	}
	if clash := slices.IndexFunc(files,
		func(r schemas.Resource) bool { return strings.EqualFold(r.Path, skillfile.FileName) }); clash >= 0 {
		return nil, fmt.Errorf("%s: expected no other file of the name %s", files[clash].Path, skillfile.FileName)
	}
	return json.Marshal(s, json.Deterministic(true))
}
