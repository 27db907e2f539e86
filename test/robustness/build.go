package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"cairn/test/cairntest"
)

// change is a change of a source file in a build of the program. The files on disk are
// not modified.
type change struct {
	file          string // absolute path
	before, after string // before occurs once; empty: after is a new file
}

// build builds the program with the changes at an absolute path.
func build(program string, changes []change) (err error) {
	dir, err := os.MkdirTemp("", "cairn-overlay-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	replace, err := overlay(dir, changes)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err == nil {
		err = os.WriteFile(file, list, 0o600)
	}
	if err != nil {
		return err
	}
	return cairntest.BuildTo(program, "-overlay", file)
}

// overlay writes the changed files to the directory, and maps the path of each original to the
// path of the changed file, in the format of "go build -overlay".
func overlay(dir string, changes []change) (replace map[string]string, err error) {
	replace = map[string]string{}
	for _, c := range changes {
		changed, again := replace[c.file]
		if !again {
			changed = filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
			replace[c.file] = changed
		}
		if err := c.write(changed, again); err != nil {
			return nil, err
		}
	}
	return replace, nil
}

// write writes the file with the change to path. again reports whether path already has the
// file with an earlier change.
func (c change) write(path string, again bool) error {
	if c.before == "" {
		return os.WriteFile(path, []byte(c.after), 0o600)
	}
	from := c.file
	if again {
		from = path
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if n := strings.Count(string(text), c.before); n != 1 {
		return fmt.Errorf("%s contains %q %d times, want once", c.file, c.before, n)
	}
	return os.WriteFile(path, []byte(strings.Replace(string(text), c.before, c.after, 1)), 0o600)
}

// mainModule returns the directory of the main module.
func mainModule() (string, error) { return goCommand("list", "-m", "-f", "{{.Dir}}", "cairn") }

// goCommand returns the output of a go command.
func goCommand(args ...string) (string, error) {
	out, err := exec.Command("go", args...).Output() // #nosec G204 -- the arguments are constants
	if err != nil {
		return "", fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
