package describe

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/bus"
)

// TestAsyncMessagesMatchTypes checks a subject of each form, and that operations use messages of their channels, as
// AsyncAPI requires.
func TestAsyncMessagesMatchTypes(t *testing.T) {
	t.Parallel()
	text, err := asyncDocument()
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	messages := func(channel string) (names []string) {
		list := doc["channels"].(map[string]any)[channel].(map[string]any)["messages"].(map[string]any)
		for name := range list {
			names = append(names, name)
		}
		slices.Sort(names)
		return names
	}
	var events []string
	for _, e := range Analysis.Events {
		events = append(events, "event_"+e.Name)
	}
	events = append(events, "Error")
	slices.Sort(events)
	for channel, want := range map[string][]string{
		bus.ResolveSkill.Subject:              {"SkillQuery"},
		bus.ResolveSkill.Subject + ".reply":   {"Error", "SkillAnswer"},
		bus.DeleteTag.Subject + ".reply":      {"Empty", "Error"},
		bus.Projected.Subject:                 {"Projected"},
		bus.TagChanges.Subject:                {"TagChanges"},
		bus.Render.Subject:                    {"Rendering"},
		bus.Render.Subject + ".reply":         {"Error", "event_done", "event_error", "event_text_delta"},
		bus.Analyze.Subject:                   {"Analysis"},
		bus.Analyze.Subject + ".reply":        events,
		bus.Health("tags").Subject:            {"Empty"},
		bus.Health("tags").Subject + ".reply": {"Error", "Health"},
	} {
		if diff := cmp.Diff(want, messages(channel)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", channel, diff)
		}
	}
	for _, o := range bus.Operations() {
		if o.Pattern == bus.RequestEvents && len(streamEvents[o.Subject]) == 0 {
			t.Errorf("%s has no events", o.Subject)
		}
	}
	operation := doc["operations"].(map[string]any)[bus.RegisterSkill.Subject].(map[string]any)
	if got := operation["x-permission"]; !reflect.DeepEqual(got, "register") {
		t.Errorf("the permission is %v", got)
	}
}
