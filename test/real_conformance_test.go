package test

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Versions of the packages that TestRealModelContextClients installs.
const (
	conformancePackage = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
	inspectorPackage   = "@modelcontextprotocol/inspector@0.15.0"
	nodePackage        = "node@22"
)

// conformance are the scenarios of the conformance suite that apply to a server of records,
// with the checks that must pass. Others of the scenario need the tools of a test server.
var conformance = map[string]string{
	"server-initialize": "2/2", "logging-set-level": "2/2", "ping": "2/2", "completion-complete": "2/2",
	"tools-list":     "3/3",
	"resources-list": "2/2", "sep-2164-resource-not-found": "4/4", "prompts-list": "2/2",
	"dns-rebinding-protection": "2/2",
	"caching":                  "8/8", "http-header-validation": "14/14",
	"input-required-result-unsupported-methods": "2/2",
	"sep-2640-skills-directory":                 "7/7", "sep-2640-skills-enumeration": "32/32",
	"sep-2640-skills-manifest": "6/6",
	"server-stateless":         "21/25", // the others call tools of a test server that log, sample or elicit
}

// inspected are the calls of each tool by the MCP Inspector: an argument a line.
var inspected = map[string][]string{
	"search_skills": {"query=describe hosts"}, "resolve_skill": {"skill_id=a.hosts"},
	"resolve_agent":   {"query=describe hosts"},
	"resolve_context": {"skill_id=a.hosts"}, "resolve_tools": {`tool_ids=["a.b.c"]`},
	"ask_estate":               {"query=how many hosts?", `estate={"hosts":[{"site":"x"}]}`},
	"inspect_schema":           {`estate={"hosts":[{"site":"x"}]}`},
	"compute_stats":            {`estate={"hosts":[{"site":"x"}]}`, "data_key=hosts", "group_by=site"},
	"register_skill":           {`record={"skill_id":"a.inspected"}`},
	"register_agent":           {`agent_data={"agent_id":"inspected"}`},
	"register_tool":            {`tool_data={"tool_id":"a.b.inspected"}`},
	"register_guardrail":       {`guardrail_data={"guardrail_id":"inspected"}`},
	"register_template":        {`template_data={"template_id":"inspected"}`},
	"register_context_builder": {`cb_data={"context_builder_id":"inspected"}`},
	"search_records":           {"query=list hosts"},
	"get_record":               {"kind=skill", "id=a.hosts"},
	"record_history":           {"kind=skill", "id=a.hosts"},
	"list_tags":                {}, "read_tag": {"request_id=inspected"},
	"write_tag":  {"request_id=written", "flow=f", `tags={"a":"b"}`},
	"delete_tag": {"request_id=written"},
}

// TestRealModelContextClients runs the conformance suite of the Model Context Protocol, and
// lists and calls every tool with the MCP Inspector.
func TestRealModelContextClients(t *testing.T) {
	if os.Getenv("CAIRN_TEST_NPM") == "" {
		t.Skip("CAIRN_TEST_NPM is not set: npm packages are not installed")
	}
	n := installNode(t)
	c := newClient(t, open(t, topologies[0], &setup{name: "conformance"}))
	c.put(t, [2]string{"tool", `{"tool_id":"a.b.c","description":"Lists hosts"}`},
		[2]string{"context_builder",
			`{"context_builder_id":"hosts","instructions":"List hosts first.","tool_ids":["a.b.c"]}`},
		[2]string{"agent", `{"agent_id":"hosts","capabilities":["describe hosts"]}`},
		[2]string{"skill", `{"skill_id":"a.hosts","purpose":"Describe hosts","instructions":"List them.","context_builder_ids":["hosts"],
			"resources":[{"path":"scripts/list.py","text":"print(1)"}]}`},
		[2]string{"skill", `{"skill_id":"b.sites","purpose":"Describe sites"}`})
	c.do(t, "POST /tags/write", `{"request_id":"inspected","flow":"f","tags":{}}`)
	for _, scenario := range slices.Sorted(maps.Keys(conformance)) {
		t.Run(scenario, func(t *testing.T) {
			out, _ := n.run(t, "conformance", "server", "--url", c.base+"/mcp", "--scenario", scenario) // exits with 1 for 21/25
			if !strings.Contains(out, "Passed: "+conformance[scenario]+",") {
				t.Errorf("want %s checks to pass: %s", conformance[scenario], out)
			}
		})
	}
	t.Run("inspector", func(t *testing.T) { n.inspect(t, c) })
}

// inspect lists the tools, and calls each.
func (n node) inspect(t *testing.T, c *client) {
	inspector := func(args ...string) []byte {
		t.Helper()
		out, err := n.run(t, "mcp-inspector", append([]string{"--cli", c.base + "/mcp", "--transport", "http"}, args...)...)
		if err != nil {
			t.Errorf("%v: %v: %s", args, err, out)
		}
		return []byte(out)
	}
	var list struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(inspector("--method", "tools/list"), &list); err != nil || len(list.Tools) != len(inspected) {
		t.Fatalf("%d tools, %v; want %d", len(list.Tools), err, len(inspected))
	}
	for _, tool := range list.Tools {
		args := []string{"--method", "tools/call", "--tool-name", tool.Name}
		for _, arg := range inspected[tool.Name] {
			args = append(args, "--tool-arg", arg)
		}
		var result struct {
			IsError           bool
			StructuredContent map[string]any
		}
		out := inspector(args...)
		if err := json.Unmarshal(out, &result); err != nil || result.IsError ||
			len(result.StructuredContent) == 0 && tool.Name != "delete_tag" {
			t.Errorf("%s: %v: %s", tool.Name, err, out)
		}
	}
}

// node is a directory with Node.js and npm packages.
type node string

// installNode installs the packages, from the cache of npm if it has them.
func installNode(t *testing.T) node {
	t.Helper()
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("npm is not installed")
	}
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	// The package node installs its program in a script.
	install := exec.CommandContext(ctx, npm, "install", "--prefix", dir, "--prefer-offline", "--no-audit", "--no-fund",
		"--loglevel=error",
		nodePackage, conformancePackage, inspectorPackage)
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v: %s", install.Args, err, out)
	}
	return node(dir)
}

// run runs a program of a package and returns its output.
func (n node) run(t *testing.T, program string, args ...string) (string, error) {
	t.Helper()
	bin := filepath.Join(string(n), "node_modules", ".bin")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(bin, program), args...)
	cmd.Env = append(os.Environ(), "NO_COLOR=1", "PATH="+filepath.Join(string(n), "node_modules", "node", "bin")+
		string(os.PathListSeparator)+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Dir = &out, &out, string(n)
	err := cmd.Run()
	return out.String(), err
}
