package bus_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"cairn/bus"
	"cairn/bus/bustest"
)

// TestOperationsHaveEverySubject compares Operations with the subjects in subjects.go.
func TestOperationsHaveEverySubject(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "subjects.go", nil, 0)
	bustest.Must(t, err)
	missing := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && strings.HasPrefix(l.Value, `"cairn.`) && l.Value != `"cairn.health."` {
			missing[strings.Trim(l.Value, `"`)] = true
		}
		return true
	})
	if len(missing) < 30 {
		t.Fatalf("%d subjects in subjects.go", len(missing))
	}
	for _, service := range bus.Services() {
		missing[bus.Health(service).Subject] = true
	}
	for _, o := range bus.Operations() {
		if !missing[o.Subject] {
			t.Errorf("%s is not in subjects.go, or listed twice", o.Subject)
		}
		delete(missing, o.Subject)
		if o.Summary == "" || o.Request == nil || (o.Reply != nil) != (o.Pattern == bus.RequestReply) {
			t.Errorf("%+v", o)
		}
	}
	for subject := range missing {
		t.Errorf("Operations does not have %s", subject)
	}
}
