package cairntest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Change is a change of a source file in a build of the program. The files on disk are
// not modified.
type Change struct {
	File          string // absolute path
	Before, After string // Before occurs once; empty: After is a new file
}

// BuildChanged builds the program with the changes at an absolute path.
func BuildChanged(program string, changes []Change) (err error) {
	dir, err := os.MkdirTemp("", "cairn-overlay-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	replace, err := Overlay(dir, changes)
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
	return BuildTo(program, "-overlay", file)
}

// Overlay writes the changed files to the directory, and maps the path of each original to the
// path of the changed file, in the format of "go build -overlay".
func Overlay(dir string, changes []Change) (replace map[string]string, err error) {
	replace, sources := map[string]string{}, map[string]string{}
	for _, c := range changes {
		source, changed := sources[c.File]
		if !changed && c.Before != "" {
			text, err := os.ReadFile(c.File)
			if err != nil {
				return nil, err
			}
			source = string(text)
		}
		if n := strings.Count(source, c.Before); c.Before != "" && n != 1 {
			return nil, fmt.Errorf("%s contains %q %d times, want once; change the replaced text, too", c.File, c.Before, n)
		}
		sources[c.File] = strings.Replace(source, c.Before, c.After, 1)
	}
	for file, source := range sources {
		replace[file] = filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		if err := os.WriteFile(replace[file], []byte(source), 0o600); err != nil {
			return nil, err
		}
	}
	return replace, nil
}
