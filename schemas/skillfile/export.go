package skillfile

import (
	"cmp"
	"strings"

	"cairn/schemas"
)

// PackageFile is the file of an exported skill that has its record and its linked records.
const PackageFile = "references/cairn-package.json"

// Export renders a skill and its record as the SKILL.md of an exported directory of the name.
func Export(s schemas.Skill, record []byte, name string) ([]byte, error) {
	f := FrontmatterOf(s, record)
	f.Name = name
	head, err := f.YAML()
	if err != nil {
		return nil, err
	}
	return append(append(head, '\n'), Body(s)...), nil
}

// Body returns the instructions of a skill, or else its purpose and description, as the body
// of the SKILL.md of an exported directory. It ends in a line break.
func Body(s schemas.Skill) string {
	if text := strings.TrimSpace(s.Instructions); text != "" {
		return text + "\n"
	}
	var parts []string
	for _, part := range []string{"# " + OneLine(cmp.Or(s.DisplayName, s.SkillID)), s.Purpose, s.Description} {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "\n\n") + "\n"
}
