package resolve

import (
	"bytes"
	"log/slog"
	"testing"

	"cairn/schemas"
	"cairn/services/internal/catalog"
)

// TestSummariesDoNotReadInstructions lists skills whose instructions are overwritten with text that is not JSON
// after they have been applied.
func TestSummariesDoNotReadInstructions(t *testing.T) {
	t.Parallel()
	r := newResolver(Deps{Log: slog.New(slog.DiscardHandler)})
	const instructions = `"# Steps"`
	var changes []catalog.Change
	for id, record := range map[string]string{
		"a": `{"instructions":` + instructions + `}`,
		"b": `{"instructions":` + instructions + `,"purpose":"p"}`,
		"c": `{"purpose":"p","instructions":` + instructions + `,"resources":[{"path":"f","text":"x"}]}`,
		"d": `{"purpose":"p","instructions":""}`,
	} {
		changes = append(changes, catalog.Change{
			Key: catalog.Key{Kind: schemas.KindSkill, Tenant: "acme", ID: id}, Record: []byte(record),
			Revision: uint64(len(changes) + 1),
		})
	}
	if err := r.apply(changes); err != nil {
		t.Fatal(err)
	}
	for _, k := range r.view.After(catalog.Collection{Kind: schemas.KindSkill, Tenant: "acme"}, "") {
		if position := bytes.Index(k.record, []byte(instructions)); position >= 0 {
			copy(k.record[position:], bytes.Repeat([]byte{'?'}, len(instructions)))
		}
	}
	list, _, err := fillPage(t.Context(), r, listing{kind: schemas.KindSkill}, start{tenant: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	want := `{} {"purpose":"p"} {"purpose":"p","resources":[{"path":"f"}]} {"purpose":"p","instructions":""}`
	var got [][]byte
	for _, k := range list {
		got = append(got, k.summary())
		if k.summarySize() != len(k.summary()) {
			t.Errorf("the size of %s is %d", k.summary(), k.summarySize())
		}
	}
	if string(bytes.Join(got, []byte(" "))) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
