package offline_test

import (
	"strings"
	"testing"

	"cairn/services/internal/estate"
)

// TestRoles declines questions whose value or field cannot have the role that the question gives it.
func TestRoles(t *testing.T) {
	t.Parallel()
	e, err := estate.Parse([]byte(`{"flights":[
 {"no":"f1","destination":"Lisbon","crewed_on":"2026-09-01"},{"no":"f2","destination":"Athens","crewed_on":"2026-09-02"},
 {"no":"f3","destination":"Lisbon","crewed_on":"2026-09-02"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ name, question, want string }{
		{"a destination", "How many flights to Lisbon are there?", "2 flights."},
		{"a destination as the origin", "How many flights from Lisbon are there?", `Unknown term "Lisbon"`},
		{"a date as a person", "Who crewed the most flights?", "The use of field crewed_on was not understood."},
	} {
		if got, _ := ask(t, e, row.question); !strings.HasPrefix(got, row.want) {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}
