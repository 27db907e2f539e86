package skillfile

import (
	"testing"

	"cairn/schemas"
)

func TestSkillDescription(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ purpose, description, display, want string }{
		{"Find VLANs", "Lists them.", "", "Find VLANs. Lists them."},
		{"Find VLANs!", "Lists them.", "", "Find VLANs! Lists them."},
		{"", "Lists them.", "x", "Lists them."},
		{"", " \n", "VLANs", "VLANs"},
		{"", "", "", "a.b"},
	} {
		got := Description(schemas.Skill{SkillID: "a.b", Purpose: row.purpose, Description: row.description,
			DisplayName: row.display})
		if got != row.want {
			t.Errorf("got %q, want %q", got, row.want)
		}
	}
}
