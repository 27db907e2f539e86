package importer

import (
	"errors"
	"fmt"
	"maps"
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

	problems []string // errors of the reference validator, other than of names and descriptions
}

// parseSkillFile returns the frontmatter and the body of a SKILL.md.
func parseSkillFile(text []byte) (head frontmatter, body string, err error) {
	if !utf8.Valid(text) {
		return head, "", errors.New("expected UTF-8")
	}
	content := strings.ReplaceAll(string(text), "\r\n", "\n")
	rest, begins := strings.CutPrefix(content, "---\n")
	top, body, ends := strings.Cut("\n"+rest, "\n---\n")
	if !ends {
		top, ends = strings.CutSuffix("\n"+rest, "\n---")
		body = ""
	}
	if !begins || !ends {
		return head, "", errors.New("expected YAML frontmatter between lines of ---")
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(top), &doc); err != nil {
		return head, "", fmt.Errorf("frontmatter: %w", err)
	}
	if doc.Kind != yaml.DocumentNode || doc.Content[0].Kind != yaml.MappingNode {
		return head, "", errors.New("frontmatter: expected a YAML mapping")
	}
	err = head.decode(doc.Content[0])
	return head, strings.TrimSpace(body), err
}

func (f *frontmatter) decode(n *yaml.Node) error {
	f.checkYAML(n)
	fields := map[string]*string{
		"name": &f.Name, "description": &f.Description, "license": &f.License, "compatibility": &f.Compatibility,
	}
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		name, value := n.Content[i].Value, n.Content[i+1]
		if seen[name] {
			return fmt.Errorf("frontmatter: %s appears twice", name)
		}
		seen[name] = true
		field := fields[name]
		switch {
		case name == "metadata":
			f.Metadata = scalars(value)
			if value.Kind != yaml.MappingNode {
				return errors.New("metadata: expected a mapping")
			}
		case name == "allowed-tools":
			f.AllowedTools = strings.Join(items(value), " ")
		case field == nil:
			f.problems = append(f.problems,
				name+": unexpected field; expected name, description, license, compatibility, metadata or allowed-tools")
		case value.Kind != yaml.ScalarNode:
			return fmt.Errorf("%s: expected a string", name)
		default:
			*field = strings.TrimSpace(value.Value)
		}
	}
	if utf8.RuneCountInString(f.Compatibility) > skillfile.MaxCompatibility {
		f.problems = append(f.problems,
			fmt.Sprintf("compatibility: expected at most %d characters", skillfile.MaxCompatibility))
	}
	return nil
}

// checkYAML records YAML features that the reference validator's subset lacks.
func (f *frontmatter) checkYAML(n *yaml.Node) {
	flow := n.Style&yaml.FlowStyle != 0 && n.Kind != yaml.ScalarNode
	if flow || n.Anchor != "" || n.Kind == yaml.AliasNode || n.Style&yaml.TaggedStyle != 0 {
		f.problems = append(f.problems,
			fmt.Sprintf("line %d: flow style, anchors and tags are not part of the format", n.Line))
		return
	}
	for _, item := range n.Content {
		f.checkYAML(item)
	}
}

// scalars returns the members of a mapping whose values are scalars.
func scalars(n *yaml.Node) map[string]string {
	m := map[string]string{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i+1].Kind == yaml.ScalarNode {
			m[n.Content[i].Value] = n.Content[i+1].Value
		}
	}
	return m
}

// items returns a scalar, or the items of a list.
func items(n *yaml.Node) []string {
	if n.Kind == yaml.ScalarNode {
		return []string{n.Value}
	}
	var list []string
	for _, item := range n.Content {
		list = append(list, item.Value)
	}
	return list
}

// validate returns the first error that the reference validator reports. With lenient, a name
// and a description suffice.
func (f frontmatter) validate(dir string, lenient bool) error {
	switch {
	case f.Name == "":
		return errors.New("name: required, and must not be empty")
	case f.Description == "":
		return errors.New("description: required, and must not be empty")
	case lenient:
		return nil
	case utf8.RuneCountInString(f.Description) > skillfile.MaxDescription:
		return fmt.Errorf("description: expected at most %d characters, got %d", skillfile.MaxDescription,
			utf8.RuneCountInString(f.Description))
	case len(f.problems) > 0:
		return errors.New(f.problems[0])
	}
	return validateName(norm.NFKC.String(f.Name), norm.NFKC.String(dir))
}

func validateName(name, dir string) error {
	invalid := func(r rune) bool { return r != '-' && !unicode.IsLetter(r) && !unicode.IsNumber(r) }
	switch {
	case utf8.RuneCountInString(name) > skillfile.MaxName:
		return fmt.Errorf("name: expected at most %d characters, got %d", skillfile.MaxName, utf8.RuneCountInString(name))
	case name != strings.ToLower(name):
		return fmt.Errorf("name: expected lower case, got %q", name)
	case strings.HasPrefix(name, "-"), strings.HasSuffix(name, "-"), strings.Contains(name, "--"):
		return fmt.Errorf("name: expected single hyphens between other characters, got %q", name)
	case strings.ContainsFunc(name, invalid):
		return fmt.Errorf("name: expected letters, digits and hyphens, got %q", name)
	case name != dir:
		return fmt.Errorf("name: expected the name of the directory, %q, got %q", dir, name)
	}
	return nil
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

// record returns the record of the skill. Its id is the domain and the name, unless a Cairn has
// rendered the file, whose metadata have the id then.
func (f frontmatter) record(domain, body string, files []schemas.Resource) (jsontext.Value, error) {
	s := skill{
		SkillID: domain + "." + segment(norm.NFKC.String(f.Name)), Description: f.Description, Instructions: body,
		License:   f.License,
		versioned: versionOf(f.Metadata[skillfile.MetadataVersion]), Compatibility: f.Compatibility,
		AllowedTools: f.AllowedTools, Metadata: maps.Clone(f.Metadata), Resources: files,
	}
	delete(s.Metadata, skillfile.MetadataVersion)
	if id := f.Metadata[skillfile.MetadataID]; id != "" &&
		(skillfile.Name(id) == f.Name || strings.HasSuffix(id, "."+segment(f.Name))) {
		s.SkillID = id
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
