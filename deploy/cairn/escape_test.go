package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"cairn/bus/keys"
	"cairn/deploy/internal/connect"
	"cairn/schemas"
)

// evil is a text that clears the terminal, sets its title and reverses the text that
// follows. evilJSON is evil within JSON, with unescaped C1 and bidi characters.
const (
	evil     = "\x1b[2J\x1b]0;owned\x07\r\u009b31m\u202eevil"
	evilJSON = `\u001b[2J\u001b]0;owned\u0007\r` + "\u009b31m\u202eevil"
)

// TestCommandsEscapeTexts runs every command that prints texts against a server that
// replies with hostile texts only.
func TestCommandsEscapeTexts(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		"/health":             `{"service":"cairn","status":"degraded","version":"$","services":[{"service":"$","status":"ok","backends":{"model":"$"},"degraded":["$"]}],"degraded":["$"]}`,
		"/resolve/skill":      `{"skills":[{"skill_id":"a.$","purpose":"$","score":1}],"degraded":"$"}`,
		"/resolve/agent":      `{"agent_id":"$","capabilities":["$"],"owned_skill_ids":["$"],"score":1}`,
		"/resolve/tools":      `{"tools":[{"tool_id":"$","tool_class":"$","description":"$"}],"missing":[]}`,
		"/resolve/tool_class": `{"tools":[{"tool_id":"$","tool_class":"$","description":"$"}]}`,
		"/records/search":     `{"hits":[{"kind":"tool","score":1,"record":{"tool_id":"$","description":"$"}}],"next_offset":null,"degraded":"$"}`,
		"/register/reindex":   `{"fingerprint":"$","revision":1}`,
		"/records":            `{"kind":"$","id":"$","error":{"type":"$","title":"$","status":400,"detail":"$","code":"CE-061","errors":[{"field":"$","message":"$"}]}}`,
		"/records/skill":      `{"records":[{"skill_id":"a.$","tenant_id":"$","purpose":"$","labels":{"$":"$"},"status":"$"}],"next_cursor":null}`,
		"/records/skill/a.b":  `{"skill_id":"a.b","tenant_id":"$","purpose":"$","$":["$"]}`,
		"/tags/r":             `{"tags":{"request_id":"$","flow":"$","tags":{"$":"$"}}}`,
		"/register/skill":     `{"type":"$","title":"$","status":400,"detail":"$","code":"CE-061","errors":[{"field":"$","message":"$"}]}`,
		"/api/v1/analyze": `event: tool_use` + "\n" + `data: {"tool_call_id":"1","name":"$","input":{"data_key":"$"}}` +
			"\n\n" +
			`event: tool_result` + "\n" + `data: {"tool_call_id":"1","result":{"$":"$"}}` + "\n\n" +
			`event: text_delta` + "\n" + `data: {"text":"$"}` + "\n\n" +
			`event: direct_response` + "\n" + `data: {"text":"$","reason":"$"}` + "\n\n" +
			`event: provenance` + "\n" + `data: {"figures":[{"text":"$","flagged":true}]}` + "\n\n" +
			`event: error` + "\n" + `data: {"code":"AN-500","message":"$"}` + "\n\n" + "event: done\ndata: {}\n\n",
	}
	serve := func(status int) string {
		return serving(t, func(w http.ResponseWriter, r *http.Request) {
			answer := answers[strings.TrimSuffix(r.URL.Path, "/run")]
			if r.URL.Path == "/register/skill" {
				w.WriteHeader(http.StatusBadRequest)
			} else if status != http.StatusOK {
				w.WriteHeader(status)
				answer = answers["/register/skill"]
			}
			_, _ = io.WriteString(w, strings.ReplaceAll(answer, "$", evilJSON))
		})
	}
	stranger := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, evil) // no error body
	})
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	records := file("records.json", `{"skill_id":"a.b","purpose":"`+evilJSON+`"}`)
	unknown := file("unknown.json", `{"`+evilJSON+`":1}`)
	judged := file("queries.jsonl", `{"query":"`+evilJSON+`","skill_ids":["a.b"]}`)
	broken := file("broken.json", "{\""+evil)
	estate := file("estate.json", `{"hosts":[{"name":"`+evilJSON+`"}]}`)
	commands := [][]string{
		{"status"}, {"search", "a query"}, {"resolve", "a.b"}, {"search", "--kind", "agent", "q"},
		{"search", "--kind", "tool", "q"},
		{"resolve", "--tool-class", "c"},
		{"get", "skills"}, {"get", "skill", "a.b"}, {"describe", "skill", "a.b"}, {"delete", "skill", "a.b"},
		{"diff", records, unknown},
		{"export", "skill"}, {"edit", "skill/a.b", "--editor", "true"}, {"tags", "get", "r"}, {"runs", "follow", "run"},
		{"doctor"},
		{"reindex"}, {"apply", records}, {"apply", unknown}, {"apply", broken}, {"apply", "--dry-run", records, unknown},
		{"ask", "--estate", estate, "how many hosts?"}, {"ask", "--estate", broken, "how many hosts?"},
		{"search", "--explain", "q"},
		{"eval", records, judged, "--retry-timeout", "0s"}, {"eval", records, broken},
	}
	answering, rejecting := serve(http.StatusOK), serve(http.StatusBadRequest)
	check := func(args ...string) {
		got := do(t, "", args...)
		names := args[0] == "get" && slices.Contains(args, "-oname") // for other commands
		for _, r := range got.out + got.err {
			if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) && !names) {
				t.Errorf("cairn %q writes %U: %q", args, r, got.out+got.err)
				break
			}
		}
	}
	for _, args := range commands {
		for _, format := range [][]string{nil, {"-ojson"}, {"-oyaml"}, {"-owide"}, {"-oname"}} {
			check(append(append(args[:len(args):len(args)], format...), "--url", answering)...)
		}
		for _, url := range []string{rejecting, stranger} { // errors do not depend on the output format
			check(append(args[:len(args):len(args)], "--url", url)...)
		}
	}
	_, nats := reached(t)
	conn, err := (&connect.NATS{URL: nats}).Connect(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	store, err := keys.Open(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := store.Create(t.Context(),
		keys.Key{Role: schemas.RoleReader, Tenants: []string{evil}, Note: evil}); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"key", "list"}, {"key", "list", "-ojson"},
		{"backup", filepath.Join(dir, evil, "file")},
		{"restore", broken}} {
		check(append(args, "--nats", nats)...)
	}
	if got := do(t, "", "status", "--url", "http://"+evil); strings.ContainsAny(got.err, "\x1b\r\u202e") {
		t.Errorf("an error text: %q", got.err)
	}
}
