package schemas

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/schemas/member"
)

// CompleteSkill returns the record of a skill as its registration stores it: with the
// default domain, which is derived from the id, and with the digest and the size of each
// resource.
func CompleteSkill(f Skill, record jsontext.Value) (jsontext.Value, error) {
	if f.Domain == "" {
		domain, _, _ := strings.Cut(f.SkillID, ".")
		var err error
		if record, err = member.Append(record, member.Member{Name: "domain", Value: domain}); err != nil {
			return nil, err
		}
	}
	return describeResources(record, f.Resources)
}

// describeResources returns the record with the digest and the size of each resource.
func describeResources(record jsontext.Value, resources []Resource) (jsontext.Value, error) {
	if len(resources) == 0 {
		return record, nil
	}
	var raw struct {
		Resources []jsontext.Value `json:"resources"`
	}
	if err := json.Unmarshal(record, &raw); err != nil {
		return nil, err
	}
	for i, r := range resources {
		content, err := r.Content()
		if err != nil {
			return nil, err
		}
		item := raw.Resources[i]
		for _, m := range []member.Member{{Name: "sha256", Value: Digest(content)}, {Name: "size", Value: len(content)}} {
			if item, err = member.Append(item, m); err != nil {
				return nil, err
			}
		}
		raw.Resources[i] = item
	}
	return member.Append(record, member.Member{Name: "resources", Value: raw.Resources})
}
