package console

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxSize bounds what a browser transfers for the whole console, in bytes.
const maxSize = 250_000

func load(t *testing.T) *Console {
	t.Helper()
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSize(t *testing.T) {
	t.Parallel()
	c, size := load(t), 0
	for _, name := range slices.Sorted(maps.Keys(c.files)) {
		f, _ := c.File(name)
		size += len(f.Gzip)
		if f.Media == "" {
			t.Errorf("%s has no media type", name)
		}
	}
	if size > maxSize {
		t.Errorf("the console has %d bytes compressed, want at most %d", size, maxSize)
	}
	t.Logf("%d bytes compressed", size)
}

// TestVendored compares the vendored modules with the table of README.md.
func TestVendored(t *testing.T) {
	t.Parallel()
	table, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	c := load(t)
	rows := regexp.MustCompile("(?m)^\\| `static/(\\S+)` .*\\(static/(\\S+)\\).* `([0-9a-f]{64})` \\|$").FindAllSubmatch(
		table, -1)
	if len(rows) != 4 {
		t.Fatalf("README.md lists %d vendored files, want 4", len(rows))
	}
	for _, row := range rows {
		f, _ := c.File(string(row[1]))
		if sum := sha256.Sum256(f.Content); hex.EncodeToString(sum[:]) != string(row[3]) {
			t.Errorf("%s has the SHA-256 %x, and README.md says %s", row[1], sum, row[3])
		}
		if _, ok := c.File(string(row[2])); !ok {
			t.Errorf("%s has no licence %s", row[1], row[2])
		}
	}
}

// inline matches what the policy forbids: script and style elements with content, and
// attributes with scripts and styles.
var inline = regexp.MustCompile(`(?i)<script[^>]*>[^<]|<style|\s(on[a-z]+|style)=|javascript:`)

// elsewhere matches a reference to another server.
var elsewhere = regexp.MustCompile(`(?i)(src|href)="(https?:)?//|@import|url\((['"]?)https?:`)

func TestContentSecurityPolicy(t *testing.T) {
	t.Parallel()
	c := load(t)
	page, _ := c.File(Index)
	if match := inline.Find(page.Content); match != nil {
		t.Errorf("the page has inline code: %s", match)
	}
	for _, name := range slices.Sorted(maps.Keys(c.files)) {
		f, _ := c.File(name)
		if match := elsewhere.Find(f.Content); match != nil && !strings.HasSuffix(name, ".txt") {
			t.Errorf("%s refers to another server: %s", name, match)
		}
	}
	for _, directive := range strings.Split(ContentSecurityPolicy, "; ") {
		if strings.Contains(directive, "unsafe") || strings.Contains(directive, "*") {
			t.Errorf("the policy allows %s", directive)
		}
	}
	if !strings.HasPrefix(ContentSecurityPolicy, "default-src 'self'; ") {
		t.Errorf("the policy is %s, want default-src 'self'", ContentSecurityPolicy)
	}
}

// TestReferences checks that every file that the page or a module refers to exists.
func TestReferences(t *testing.T) {
	t.Parallel()
	c := load(t)
	reference := regexp.MustCompile(`(?:from ?|import ?\(?)["']\./([^"']+)["']|/console/` + c.Build + `/([^"]+)"`)
	count := 0
	for _, name := range slices.Sorted(maps.Keys(c.files)) {
		f, _ := c.File(name)
		for _, match := range reference.FindAllSubmatch(f.Content, -1) {
			count++
			if _, ok := c.File(string(match[1]) + string(match[2])); !ok {
				t.Errorf("%s refers to %s%s, which does not exist", name, match[1], match[2])
			}
		}
	}
	if count < 10 {
		t.Errorf("found %d references only", count)
	}
}
