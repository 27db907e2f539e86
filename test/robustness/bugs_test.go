package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// plantedBug is a bug that the environment variable bugVariable of a process selects.
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
		file: "bus/bucket/publish.go", before: "timeout *= 2\n",
		after:  "timeout *= 2\n\t\tif BUG && NoReply(err) {\n\t\t\terr = nil\n\t\t}\n",
		faults: "^SIGKILL of .*leader, restarted", finds: "operations on the tag .* are not linearizable",
	},
	{
		name: "the clock of a worker decides when a tag has expired",
		file: "services/tags/entry.go", before: "return e.sequence > 0 && !e.removed }",
		after:  "return e.sequence > 0 && !e.removed && !(BUG && time.Now().After(e.deadline)) }",
		faults: "^a worker of tags", finds: "operations on the tag .* are not linearizable",
	},
	{
		name: "a resumed run continues one event late",
		file: "bus/listener.go", before: "\tl.control, l.last, l.state = ",
		after: "\tif BUG {\n\t\tafter++\n\t}\n\tl.control, l.last, l.state = ",
		finds: `run of client .*: event \d+ after event|no event follows`,
	},
	{
		name: "the events of a run are stored without an acknowledgement",
		file: "bus/replay/writer.go", before: "\tid := w.subject + ",
		after:  "\tif BUG {\n\t\treturn w.js.Conn().PublishMsg(msg)\n\t}\n\tid := w.subject + ",
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
		faults: `^network partition of \S+ for`, finds: `client \d+ read .* with minimum revision`,
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
)

// TestCheckerFindsPlantedBugs plants bugs in the program, and expects the checks to detect
// each. TestRealClusterFaults expects them to detect nothing in the correct program.
func TestCheckerFindsPlantedBugs(t *testing.T) {
	program := programFor(t)
	for _, bug := range plantedBugs {
		t.Run(bug.name, func(t *testing.T) {
			finds := regexp.MustCompile(bug.finds)
			o := Options{Program: program, Clocks: true, Bug: bug.name, Faults: bug.faults, For: bugTime,
				Clients: 9, Analysts: bugAnalysts, Resume: bugResume}
			if o.Without = bug.faults == ""; !o.Without {
				o.For = faultInterval + time.Second
			}
			for range bugRounds {
				if r := runReal(t, o); slices.ContainsFunc(r.Violations, finds.MatchString) {
					return
				}
			}
			t.Errorf("no violation in %d runs matches %q", bugRounds, bug.finds)
		})
	}
}

// bugChanges returns the changes that plant all bugs.
func bugChanges() (list []change, err error) {
	root, err := mainModule()
	if err != nil {
		return nil, err
	}
	for n, bug := range plantedBugs {
		file, variable := filepath.Join(root, bug.file), fmt.Sprint("planted", n)
		list = append(list, change{file, bug.before, strings.ReplaceAll(bug.after, "BUG", variable)})
		list = append(list, change{filepath.Join(filepath.Dir(file), variable+".go"), "", fmt.Sprintf(
			"package %s\n\nimport \"os\"\n\nvar %s = os.Getenv(%q) == %q\n", filepath.Base(filepath.Dir(file)), variable, bugVariable, bug.name)})
	}
	return list, nil
}
