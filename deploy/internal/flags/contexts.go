package flags

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/pflag"
)

// Context is the name of the flag that selects a context. Commands with this flag take the
// values of --url, --key and --tenant from the context.
const Context = "context"

// Connection is the content of a context. At most one of the sources of a key is set.
type Connection struct {
	URL     string `json:"url"`
	Tenant  string `json:"tenant,omitzero"`
	Key     string `json:"key,omitzero"`
	KeyFile string `json:"key_file,omitzero"` // path of a file with the key
	KeyEnv  string `json:"key_env,omitzero"`  // name of an environment variable with the key
}

// Contexts are named connections, stored in a file that only its owner can read.
type Contexts struct {
	Selected string                `json:"selected,omitzero"`
	Contexts map[string]Connection `json:"contexts"`
	path     string
}

// ContextsVariable is the environment variable with the path of the file.
const ContextsVariable = "CAIRN_CONTEXTS_FILE"

// ReadContexts reads the contexts of the user. Without a file there are no contexts.
func ReadContexts(getenv func(string) string) (*Contexts, error) {
	c := &Contexts{Contexts: map[string]Connection{}, path: getenv(ContextsVariable)}
	if c.path == "" {
		dir, err := os.UserConfigDir()
		if err != nil {
			return c, nil //nolint:nilerr // a user without a home directory has no contexts
		}
		c.path = filepath.Join(dir, "cairn", "contexts.json")
	}
	text, err := os.ReadFile(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err == nil {
		err = json.Unmarshal(text, c)
	}
	if err != nil {
		return nil, fmt.Errorf("contexts %s: %w", c.path, err)
	}
	if c.Contexts == nil {
		c.Contexts = map[string]Connection{}
	}
	return c, nil
}

// Write replaces the file.
func (c *Contexts) Write() error {
	if c.path == "" {
		return errors.New("contexts: no home directory; set " + ContextsVariable)
	}
	text, err := json.Marshal(c, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.path), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(c.path), ".contexts-*") // with the permissions 0600
	if err != nil {
		return err
	}
	_, err = file.Write(append(text, '\n'))
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), c.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// Names returns the names of all contexts, sorted.
func (c *Contexts) Names() []string { return slices.Sorted(maps.Keys(c.Contexts)) }

// Find returns the context with the name.
func (c *Contexts) Find(name string) (Connection, error) {
	connection, ok := c.Contexts[name]
	if !ok {
		return connection, fmt.Errorf("no context %q; expected one of: %s", name, strings.Join(c.Names(), ", "))
	}
	return connection, nil
}

// fromContext sets flags that are set neither on the command line nor by the environment
// from the context that --context names, or else from the selected one. A context is for
// its URL only: the selected one is ignored when --url is set.
func fromContext(flags *pflag.FlagSet, getenv func(string) string) error {
	flag := flags.Lookup(Context)
	if flag == nil {
		return nil
	}
	name := flag.Value.String()
	if name == "" && flags.Changed("url") {
		return nil
	}
	stored, err := ReadContexts(getenv)
	if err != nil {
		return err
	}
	if name == "" {
		name = stored.Selected
	}
	if name == "" {
		return nil
	}
	c, err := stored.Find(name)
	if err != nil {
		return err
	}
	return c.set(flags, name, getenv)
}

func (c Connection) set(flags *pflag.FlagSet, name string, getenv func(string) string) error {
	if url := flags.Lookup("url"); url.Changed && url.Value.String() != c.URL {
		return fmt.Errorf("--url and --context are mutually exclusive: the context %s has the URL %s", name, c.URL)
	}
	values := map[string]string{"url": c.URL, "tenant": c.Tenant}
	if !flags.Changed("key") && !flags.Changed("key"+fileSuffix) {
		values["key"], values["key"+fileSuffix] = c.Key, c.KeyFile
		if c.KeyEnv != "" {
			if values["key"] = getenv(c.KeyEnv); values["key"] == "" {
				return fmt.Errorf("context %s: the environment variable %s with the key is not set", name, c.KeyEnv)
			}
		}
	}
	for flag, value := range values {
		if f := flags.Lookup(flag); f == nil || f.Changed || value == "" {
			continue
		}
		if err := flags.Set(flag, value); err != nil {
			return fmt.Errorf("context %s: %w", name, err)
		}
	}
	return nil
}
