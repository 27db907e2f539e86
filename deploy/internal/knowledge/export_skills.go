package knowledge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/deploy/internal/records"
	"cairn/edge/client"
	"cairn/schemas"
	"cairn/schemas/member"
	"cairn/schemas/skillfile"
)

// skillPackage is the content of skillfile.PackageFile. The content of the skill's resources is in
// separate files.
type skillPackage struct {
	Skill           jsontext.Value   `json:"skill"`
	ContextBuilders []jsontext.Value `json:"context_builders,omitempty"`
	Tools           []jsontext.Value `json:"tools,omitempty"`
	Guardrails      []jsontext.Value `json:"guardrails,omitempty"`
	Template        jsontext.Value   `json:"template,omitzero"`
}

// readPackage returns the package of a skill; a draft or retired one has no linked records.
func readPackage(ctx context.Context, c *client.Client, r client.Record) (p skillPackage, err error) {
	if r.JSON == nil {
		return p, nil
	}
	linked, err := c.Package(ctx, r.ID, schemas.QueryOptions{TenantID: schemas.Optional(r.Tenant)})
	if err != nil && !errors.Is(err, schemas.ErrSkillNotFound) {
		return p, err
	}
	// A draft of a tenant may have the id of a global skill.
	if err == nil && records.Summaries(linked.Manifest)[0].TenantID == r.Tenant {
		p = skillPackage{ContextBuilders: linked.ContextBuilders, Tools: linked.Tools, Guardrails: linked.Guardrails}
		if len(linked.Template) > len("{}") {
			p.Template = linked.Template
		}
	}
	p.Skill, err = withoutContent(r.JSON)
	return p, err
}

// withoutContent returns a skill whose resources have an empty text or data.
func withoutContent(record jsontext.Value) (jsontext.Value, error) {
	var skill struct {
		Resources []jsontext.Value `json:"resources"`
	}
	if json.Unmarshal(record, &skill) != nil || len(skill.Resources) == 0 {
		return record, nil // resources of another type were stored without interpretation
	}
	for i, text := range skill.Resources {
		var r schemas.Resource
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, err
		}
		name := "text"
		if r.Data != nil {
			name = "data"
		}
		empty, err := member.Append(text, member.Member{Name: name, Value: ""})
		if err != nil {
			return nil, err
		}
		skill.Resources[i] = empty
	}
	return member.Append(record, member.Member{Name: "resources", Value: skill.Resources})
}

// writeSkill writes the directory of a skill, and replaces the directory of an earlier export.
func writeSkill(root *os.Root, dir string, r client.Record, p skillPackage) error {
	skill, err := schemas.DecodeStored[schemas.Skill](schemas.KindSkill, r.JSON)
	if err != nil {
		return err
	}
	files, modes := map[string][]byte{}, map[string]fs.FileMode{}
	for _, resource := range skill.Resources {
		if resource.Executable {
			modes[resource.Path] = 0o755
		}
		if files[resource.Path], err = resource.Content(); err != nil {
			return fmt.Errorf("resource %s: %w", resource.Path, err)
		}
		if reserved(resource.Path) {
			return fmt.Errorf("resource %s: the path is reserved; rename the resource", resource.Path)
		}
	}
	if files[skillfile.FileName], err = skillfile.Export(skill, r.JSON, path.Base(dir)); err != nil {
		return err
	}
	text, err := json.Marshal(p, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	files[skillfile.PackageFile] = append(text, '\n')
	if err := checkDirectories(files); err != nil {
		return err
	}
	if err := removeExported(root, dir); err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(files))
	// first: it marks an incomplete directory as exported
	for _, name := range slices.Concat([]string{skillfile.PackageFile}, names) {
		file := path.Join(dir, name)
		if err := root.MkdirAll(path.Dir(file), 0o755); err != nil {
			return err
		}
		if err := root.WriteFile(file, files[name], cmp.Or(modes[name], 0o644)); err != nil {
			return err
		}
	}
	return nil
}

// omitted returns a line for each skill with files that an import has omitted.
func omitted(list []client.Record) (lines []string) {
	for _, r := range list {
		var skill struct {
			Omitted []string `json:"omitted_resources"`
		}
		if json.Unmarshal(r.JSON, &skill) == nil && len(skill.Omitted) > 0 { // another type is not from an import
			lines = append(lines, "skill "+r.ID+": without "+strings.Join(skill.Omitted, ", ")+
				", which exceeded the limits at the import")
		}
	}
	return lines
}

// checkDirectories returns an error if a file would also be a directory.
func checkDirectories(files map[string][]byte) error {
	for name := range files {
		for dir := range schemas.Directories(name) {
			if _, isFile := files[dir]; isFile {
				return fmt.Errorf("resource %s: %s is a file; rename the resource", name, dir)
			}
		}
	}
	return nil
}

// reserved reports whether a resource with the path cannot be exported: import skips hidden files,
// and other names are reserved.
func reserved(name string) bool {
	hidden := strings.HasPrefix(name, ".") || strings.Contains(name, "/.")
	return hidden || name == skillfile.PackageFile || strings.EqualFold(name, skillfile.FileName)
}

// removeExported removes the directory of a skill that an earlier export has written. It returns
// an error for any other directory that is not empty.
func removeExported(root *os.Root, dir string) error {
	_, err := root.Stat(path.Join(dir, skillfile.PackageFile))
	if err == nil {
		return root.RemoveAll(dir)
	}
	entries, readErr := fs.ReadDir(root.FS(), dir)
	if errors.Is(readErr, fs.ErrNotExist) {
		return nil
	}
	if readErr == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty, and was not written by an export", dir)
	}
	return readErr
}
