package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/test/cairntest"
)

// plantedBug is a bug that the environment variable bugsVariable of a process selects.
type plantedBug struct {
	name          string
	file          string // of the main module
	before, after string // in after, BUG is an expression that is true if the bug is selected
	faults        string // regular expression of the faults that expose it; empty: it shows without faults
	finds         string // regular expression of the violation
}

var plantedBugs = []plantedBug{
	{
		name: "a server that considers itself the leader answers reads without a fence",
		file: "bus/bucket/read.go", before: "if r.standalone() {\n\t\treturn r.leader(",
		after:  "if BUG || r.standalone() {\n\t\treturn r.leader(",
		faults: "^network partition of .*leader, for", finds: "operations on the tag .* are not linearizable",
	},
	{
		name: "a write is acknowledged although no server has replied",
		file: "bus/bucket/publish.go", before: "seq, err = attempt(ctx, js, msg, timeout)\n",
		after:  "seq, err = attempt(ctx, js, msg, timeout)\n\t\tif BUG && NoReply(err) {\n\t\t\terr = nil\n\t\t}\n",
		faults: "^SIGKILL of .*leader, restarted", finds: "operations on the tag .* are not linearizable",
	},
	{
		name: "the clock of a worker decides when a tag has expired",
		file: "services/tags/entry.go", before: "return e.sequence > 0 && !e.removed }",
		after:  "return e.sequence > 0 && !e.removed && !(BUG && time.Now().After(e.deadline)) }",
		faults: "^a worker of tags", finds: "operations on the tag .* are not linearizable",
	},
	{
		name: "a marker with a time to live deletes a tag",
		file: "services/tags/store.go", before: "func (s *Store) delete(ctx context.Context, k key) error {\n",
		after: `func (s *Store) delete(ctx context.Context, k key) error {
	if tag, err := s.last(ctx, k); BUG && err == nil && tag.alive() {
		msg := bucket.Marker(k.subject())
		msg.Header.Set(jetstream.MsgTTLHeader, "1s")
		_, err := s.publish(ctx, msg, tag.sequence)
		return wrap(err, "delete", k)
	}
`,
		faults: crashes, finds: "operations on the tag .* are not linearizable",
	},
	{
		name: "a resumed run continues one event late",
		file: "bus/listener.go", before: "\tl.control, l.last, l.state = ",
		after: "\tif BUG {\n\t\tafter++\n\t}\n\tl.control, l.last, l.state = ",
		finds: `run of client .*: event \d+ after event|no event follows`,
	},
	{
		name: "the events of a run are stored without an acknowledgement",
		file: "bus/replay/writer.go", before: "\tid := w.target.Subject + ",
		after:  "\tif BUG {\n\t\treturn w.js.Conn().PublishMsg(msg)\n\t}\n\tid := w.target.Subject + ",
		faults: "^SIGKILL of .*leader, restarted", finds: `the run was lost although|event \d+ after event`,
	},
	{
		name: "the view of the catalog ignores delete markers",
		file: "services/internal/catalog/view.go", before: "if change.IsRecord() {",
		after: "if change.IsRecord() && (!BUG || !change.Removed) {",
		finds: `client \d+ read .* with minimum revision`,
	},
	{
		name: "a read ignores its minimum revision",
		file: "services/resolve/resolve.go", before: "return bus.MinRevisionOf(ctx, r.deps.Catalog.ID())",
		after:  "if BUG {\n\t\treturn 0\n\t}\n\treturn bus.MinRevisionOf(ctx, r.deps.Catalog.ID())",
		faults: "^network partition of .*leader, for", finds: `client \d+ read .* with minimum revision`,
	},
}

const (
	// bugRounds is the maximum number of runs with a planted bug. Whether a run exposes it
	// depends on the timing of its clients and of the elections.
	bugRounds = 5
	// bugTime is the duration of a run without faults. Another run has one fault.
	bugTime = 4 * time.Second
	// bugAnalysts is the number of clients of each node that follow analyses.
	bugAnalysts = 12
	// bugResume is the time after its start within which an analysis is resumed.
	bugResume = 20 * time.Second
	// crashes is the faults of a bug that crashes of a stand-alone node expose.
	crashes = "crashes"
)

// TestCheckerFindsPlantedBugs plants bugs in the program, and expects the checks to detect
// each. Bugs with the same faults, whose violations differ, are planted together.
// TestRealClusterFaults expects the checks to detect nothing in the correct program.
func TestCheckerFindsPlantedBugs(t *testing.T) {
	groups := map[string][]plantedBug{}
	for _, bug := range plantedBugs {
		groups[bug.faults] = append(groups[bug.faults], bug)
	}
	for faults, bugs := range groups {
		t.Run(cmp.Or(faults, "no faults"), func(t *testing.T) {
			o := Options{Program: programFor(t), Clocks: true, Faults: faults, For: bugTime,
				Clients: 9, Analysts: bugAnalysts, Resume: bugResume, Without: faults == "", Crash: faults == crashes}
			if !o.Without {
				o.For = faultInterval + time.Second
			}
			t.Parallel()
			for n := 0; n < bugRounds && len(bugs) > 0; n++ {
				o.Bugs = nil
				for _, bug := range bugs {
					o.Bugs = append(o.Bugs, bug.name)
				}
				r := runReal(t, o)
				bugs = slices.DeleteFunc(bugs, func(bug plantedBug) bool {
					return slices.ContainsFunc(r.Violations, regexp.MustCompile(bug.finds).MatchString)
				})
			}
			for _, bug := range bugs {
				t.Errorf("%s: no violation in %d runs matches %q", bug.name, bugRounds, bug.finds)
			}
		})
	}
}

// bugChanges returns the changes that plant all bugs.
func bugChanges() (list []cairntest.Change, err error) {
	root, err := cairntest.MainModule()
	if err != nil {
		return nil, err
	}
	for n, bug := range plantedBugs {
		file, variable := filepath.Join(root, bug.file), fmt.Sprint("planted", n)
		selected := fmt.Sprintf(
			"package %s\n\nimport (\n\t\"os\"\n\t\"strings\"\n)\n\nvar %s = strings.Contains(os.Getenv(%q), %q)\n",
			filepath.Base(filepath.Dir(file)), variable, bugsVariable, bug.name)
		list = append(list,
			cairntest.Change{File: file, Before: bug.before, After: strings.ReplaceAll(bug.after, "BUG", variable)},
			cairntest.Change{File: filepath.Join(filepath.Dir(file), variable+".go"), After: selected})
	}
	return list, nil
}
