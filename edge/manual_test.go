package edge

import (
	"flag"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn/bus"
	"cairn/schemas"
)

var update = flag.Bool("update", false, "write the generated parts of the manual")

// TestNATSManual compares the manual's table of subjects with the route table, and checks that the page
// has every subject and describes every header of the table.
func TestNATSManual(t *testing.T) {
	t.Parallel()
	const path, begin, end = "docs/nats-api.md", "-update -->\n", "<!-- end of subjects -->"
	file, err := os.ReadFile(path)
	must(t, err)
	before, rest, ok := strings.Cut(string(file), begin)
	got, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatalf("%s has no markers for the table of subjects", path)
	}
	want := subjectTable()
	if *update {
		must(t, os.WriteFile(path, []byte(before+begin+want+end+after), 0o644))
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the subjects in %s differ; run: go test ./edge -run NATSManual -update (-want +got)\n%s", path, diff)
	}
	for _, o := range bus.Operations() {
		if subject := regexp.MustCompile(`^(cairn\.health\.).*`).ReplaceAllString(o.Subject,
			"${1}SERVICE"); !strings.Contains(string(file), "`"+subject+"`") {
			t.Errorf("%s has no row for %s", path, subject)
		}
	}
	_, headers, _ := strings.Cut(after, "\n## Headers\n")
	for _, r := range allRoutes() {
		for name := range strings.FieldsSeq(subjectHeaders(r)) {
			if !regexp.MustCompile(`(?m)^\| [^|]*` + name + `[^|]* \|`).MatchString(headers) {
				t.Errorf("%s does not describe the header %s", path, name)
			}
		}
	}
}

// subjectTable has a row for each subject that a route names.
func subjectTable() string {
	table := "| subject | HTTP route | request | reply | headers | permission | errors |\n|---|---|---|---|---|---|---|\n"
	var listed []string
	for _, r := range allRoutes() {
		if r.Subject == "" || strings.Contains(r.Subject, "{") || slices.Contains(listed, r.Subject) {
			continue
		}
		listed = append(listed, r.Subject)
		request, reply := "empty", "empty"
		if r.Request != nil {
			request = "`" + r.Request.Name() + "`"
		}
		if r.Reply != nil && r.Reply.Name() != "Nothing" {
			reply = "`" + r.Reply.Name() + "`"
		}
		if r.Stream != nil {
			reply = "events"
		}
		var codes []string
		for _, e := range r.Failures(true) {
			if e.Status != http.StatusUnauthorized && e.Status != http.StatusMisdirectedRequest { // sent by the edge itself
				codes = append(codes, "["+e.Code+"](errors.md#"+e.Code+")")
			}
		}
		table += "| `" + r.Subject + "` | `" + r.Method + " " + r.Path + "` | " + request + " | " + reply + " | " +
			subjectHeaders(r) + " | " + string(r.Permission) + " | " + strings.Join(codes, " ") + " |\n"
	}
	return table
}

// subjectHeaders lists the headers of the subject of the route beyond those of all subjects.
func subjectHeaders(r route) string {
	var names []string
	if r.Consistent {
		names = append(names, bus.HeaderMinRevision, bus.HeaderIgnoredRevision)
	}
	if r.Conditional {
		names = append(names, bus.HeaderIfMatch, bus.HeaderIfNoneMatch)
	}
	if r.Permission == schemas.PermissionTag || r.Permission == schemas.PermissionRegister {
		names = append(names, "Nats-Msg-Id")
	}
	if r.Reply != nil && r.Reply.Implements(reflect.TypeFor[interface {
		CatalogRevision() schemas.ConsistencyToken
	}]()) {
		names = append(names, bus.HeaderRevision)
	}
	if r.Stream != nil {
		names = append(names, bus.HeaderEvent, bus.HeaderSequence, bus.HeaderWindow, bus.HeaderRead, bus.HeaderCancel,
			bus.HeaderBodySize, bus.HeaderBodySubject)
	}
	for i, name := range names {
		names[i] = "`" + name + "`"
	}
	return strings.Join(names, " ")
}
