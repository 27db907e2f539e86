// Package browser tests the web console in Chromium. Its tests are skipped where there is
// none: neither $CHROMIUM nor chromium, google-chrome or a similar name in $PATH.
package browser

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"cairn/test/cairntest"
)

var update = flag.Bool("update", false, "write the screenshots of the manual")

func TestMain(m *testing.M) { os.Exit(cairntest.Main(m)) }

// executable returns the path of Chromium, or an empty string.
func executable() string {
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome",
		"google-chrome-stable"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	return ""
}

// startBrowser starts Chromium, and skips the test without one.
func startBrowser(t testing.TB) context.Context {
	t.Helper()
	path := executable()
	if path == "" {
		t.Skip("no browser is installed: want chromium or google-chrome in PATH, or its path in CHROMIUM")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()),
		chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.WSURLReadTimeout(time.Minute))
	if os.Geteuid() == 0 { // the sandbox needs another user
		options = append(options, chromedp.NoSandbox)
	}
	allocated, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocated)
	t.Cleanup(func() {
		cancel()
		stop()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	return ctx
}

// suite is the shared fixture: the browser, a server without authentication and one with
// API keys. Both have the example records.
type suite struct {
	browser context.Context
	open    *cairntest.Process // with the offline planner
	keyed   *cairntest.Process // with the scripted model
	model   *scriptedModel
	admin   string // key for all tenants
}

const examples = "../../deploy/examples"

func newSuite(t *testing.T) *suite {
	t.Helper()
	s := &suite{browser: startBrowser(t), model: newModel(t)}
	s.open = cairntest.Up(t, "--data", "")
	s.keyed = cairntest.Up(t, "--data", "", "--auth", "keys", "--model", s.model.url, "--tenant-records-size", "4096")
	s.admin = s.key(t, "admin", "--all-tenants")
	for url, key := range map[string]string{s.open.URL(): "-", s.keyed.URL(): s.admin} {
		if out, err := cairntest.Run(t, nil, "apply", examples+"/knowledge", "--url", url, "--key", key); err != nil {
			t.Fatalf("register the examples: %v\n%s", err, out)
		}
	}
	return s
}

// key creates an API key.
func (s *suite) key(t *testing.T, role string, flags ...string) string {
	t.Helper()
	return cairntest.CreateKey(t, s.keyed.NATS(), append(flags, "--role", role)...)
}

// TestConsole runs the tests of the web console, which share a browser and two servers.
func TestConsole(t *testing.T) {
	s := newSuite(t)
	for _, c := range []struct {
		name string
		run  func(*testing.T, *suite)
	}{
		{"a search shows hits with their ranks", testSearch},
		{"a search for the best agent", testAgentSearch},
		{"a search for guardrails, templates and tools", testRecordSearch},
		{"the catalog lists, filters and pages", testCatalog},
		{"the catalog is sorted, and filtered by a label", testCatalogOrder},
		{"a record to which others link is deleted on a second confirmation", testReferenced},
		{"a record shows its fields and links", testRecord},
		{"a registrar registers, edits and deletes a record", testForm},
		{"a form finds ids and reads files", testSkillForm},
		{"the revisions of a record are compared", testHistory},
		{"errors of the API are shown at their fields", testFormErrors},
		{"a second writer is told about the first", testConflict},
		{"a package is a graph whose nodes are links", testPackage},
		{"a tag is written, read and deleted", testTags},
		{"a run is followed by its name and canceled", testRuns},
		{"a tenant sees its usage and limits", testUsage},
		{"a tenant sees who changed its records", testAudit},
		{"health shows services and traffic", testHealth},
		{"an answer streams with its calls, chart and figures", testAsk},
		{"an analysis is resumed after a reload, and canceled", testResume},
		{"an estate is dropped, and a bad one refused", testEstate},
		{"results of every kind are shown", testResults},
		{"an answer survives the end of the server", testRestart},
		{"a large estate is read, and a larger one refused", testLargeEstate},
		{"long names and many fields fit a phone", testLongNames},
		{"a reader finds no dead link", testNoDeadLinks},
		{"a wrong key is refused", testWrongKey},
		{"an expired token keeps the questions", testExpired},
		{"a token of an OpenID provider signs in", testToken},
		{"a role sees what it may not do", testRoles},
		{"a tenant does not see the records of another", testTenants},
		{"records and estates are text", testInjection},
		{"every field of every kind is text", testInjectionOfFields},
		{"no view has accessibility violations", testAccessibility},
		{"the keyboard reaches everything", testKeyboard},
		{"no view is wider than a phone", testNarrow},
		{"the first view is interactive soon", testFirstView},
		{"screenshots of the manual", testScreenshots},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, s)
		})
	}
}

// revoke revokes an API key.
func (s *suite) revoke(t *testing.T, key string) {
	t.Helper()
	id, _, _ := strings.Cut(strings.TrimPrefix(key, "cairn_"), "_")
	if out, err := cairntest.Run(t, nil, "key", "revoke", id, "--nats", s.keyed.NATS()); err != nil {
		t.Fatalf("revoke a key: %v\n%s", err, out)
	}
}
