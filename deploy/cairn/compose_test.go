package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"cairn/deploy/internal/flags"
)

// composed contains the fields of a compose file that the tests check.
type composed struct {
	Services map[string]composedService `yaml:"services"`
	Networks map[string]any             `yaml:"networks"`
	Volumes  map[string]any             `yaml:"volumes"`
}

type composedService struct {
	Image       string
	Command     []string
	Environment map[string]string
	Volumes     []string
	Networks    []string
	Restart     string
	Build       struct{ Context, Dockerfile string }
	Healthcheck struct{ Test []string }
	DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
	Deploy      struct{ Replicas int }
}

// password is a password that a configuration parser could read as a number.
const password = "12e4"

// variable matches an environment variable in a compose file.
var variable = regexp.MustCompile(`\$\{(\w+)(?::([-?])([^}]*))?\}`)

// compose reads the compose file. Variables without a default are set to password.
func compose(t *testing.T) composed {
	t.Helper()
	text, err := os.ReadFile("../compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	received := map[string]bool{}
	expanded := variable.ReplaceAllStringFunc(string(text), func(match string) string {
		parts := variable.FindStringSubmatch(match)
		received[parts[1]] = received[parts[1]] || parts[2] != ""
		if parts[2] == "-" {
			return parts[3]
		}
		return password
	})
	for name, guarded := range received {
		if !guarded {
			t.Errorf("%s has neither a default nor an error message", name)
		}
	}
	var c composed
	if err := yaml.Unmarshal([]byte(expanded), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestComposeReferences(t *testing.T) {
	t.Parallel()
	c := compose(t)
	for name, s := range c.Services {
		for needed, how := range s.DependsOn {
			dependency, ok := c.Services[needed]
			switch {
			case !ok:
				t.Errorf("%s depends on %s, which does not exist", name, needed)
			case how.Condition == "service_healthy" && len(dependency.Healthcheck.Test) == 0:
				t.Errorf("%s depends on the health of %s, which has no health check", name, needed)
			case how.Condition == "service_completed_successfully" && dependency.Restart == "unless-stopped":
				t.Errorf("%s waits for the completion of %s, which is restarted", name, needed)
			}
		}
		for _, v := range s.Volumes {
			source, _, _ := strings.Cut(v, ":")
			if _, declared := c.Volumes[source]; !declared && !exists(filepath.Join("..", source)) {
				t.Errorf("%s mounts %s, which is neither a volume nor a file", name, source)
			}
		}
		for _, n := range s.Networks {
			if _, ok := c.Networks[n]; !ok {
				t.Errorf("%s uses the network %s, which does not exist", name, n)
			}
		}
		if b := s.Build; b.Context != "" && !exists(filepath.Join("..", b.Context, b.Dockerfile)) {
			t.Errorf("%s is built from %s, which does not exist", name, b.Dockerfile)
		}
		if s.Restart == "" {
			t.Errorf("%s is not restarted after it exits", name)
		}
	}
	var roles []string
	for _, s := range c.cairn() {
		roles = append(roles, s.Command[1:]...)
	}
	slices.Sort(roles)
	if got := strings.Join(roles, " "); got != "analyze register resolve tags" {
		t.Errorf("roles: %s", got)
	}
}

// cairn returns the services that run this program.
func (c composed) cairn() map[string]composedService {
	ours := map[string]composedService{}
	for name, s := range c.Services {
		if s.Build.Context != "" {
			ours[name] = s
		}
	}
	return ours
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestComposeCommands checks that every container runs an existing command
// with valid settings.
func TestComposeCommands(t *testing.T) {
	t.Parallel()
	for name, s := range compose(t).cairn() {
		cmd, args, err := newRoot(os.Getenv).Find(s.Command)
		if err != nil || cmd.Args != nil && cmd.Args(cmd, args) != nil {
			t.Errorf("%s: no command %v", name, s.Command)
			continue
		}
		left := s.Environment
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if value, given := left[flags.Variable(f.Name)]; given && f.Value.Set(value) != nil {
				t.Errorf("%s: %s=%s", name, flags.Variable(f.Name), value)
			}
			delete(left, flags.Variable(f.Name))
		})
		for unknown := range left {
			t.Errorf("%s: %s is not a setting of cairn %s", name, unknown, cmd.Name())
		}
	}
}

// TestComposeNATSVariables checks that the NATS servers get exactly the variables
// that nats.conf contains.
func TestComposeNATSVariables(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(natsConf)
	if err != nil {
		t.Fatal(err)
	}
	nodes := 0
	for name, s := range compose(t).Services {
		if !strings.HasPrefix(s.Image, "nats:") {
			continue
		}
		nodes++
		if !slices.Contains(s.Volumes, "./kubernetes/nats:/etc/nats:ro") {
			t.Errorf("%s mounts %v", name, s.Volumes)
		}
		for v := range s.Environment {
			if !strings.Contains(string(text), ": $"+v) {
				t.Errorf("%s has the variable %s, which nats.conf does not use", name, v)
			}
		}
		for _, v := range regexp.MustCompile(`: \$(CAIRN_\w+)`).FindAllStringSubmatch(string(text), -1) {
			if s.Environment[v[1]] == "" {
				t.Errorf("the nats.conf of %s uses the variable %s, which is not set", name, v[1])
			}
		}
		if !strings.Contains(s.Environment["CAIRN_NATS_NAME"], name) ||
			!strings.Contains(s.Environment["CAIRN_NATS_ROUTES"], "@"+name+":6222") {
			t.Errorf("%s has the server name %s and the routes %s", name, s.Environment["CAIRN_NATS_NAME"],
				s.Environment["CAIRN_NATS_ROUTES"])
		}
	}
	if nodes != 3 {
		t.Errorf("%d nodes; want 3", nodes)
	}
}
