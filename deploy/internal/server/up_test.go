package server

import (
	"strings"
	"testing"

	"cairn/deploy/internal/output"
	"cairn/services"
)

func TestReportRedactsPasswords(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	table := output.NewTable(&out)
	(&upProcess{}).addSettings(table, services.Config{
		Index: "http://elastic:sec,ret@localhost:9200",
		Embed: "ollama://user:secret@localhost/model",
		Model: "openai://user:se,cr,et@localhost/model",
	})
	table.Write()
	for _, want := range []string{
		"http://elastic:xxxxx@localhost:9200", "ollama://user:xxxxx@localhost/model", "openai://user:xxxxx@localhost/model",
	} {
		if got := out.String(); !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
