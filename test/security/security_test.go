// Package security attacks a running Cairn as a hostile user would: each test is
// one attack that must fail, and is named in .github/SECURITY.md.
package security

import (
	"os"
	"testing"

	"cairn/test/cairntest"
)

func TestMain(m *testing.M) { os.Exit(cairntest.Main(m)) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
