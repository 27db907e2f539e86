package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// found is a record as it stands in a file, or why there is none.
type found struct {
	source string // file:line
	text   jsontext.Value
	err    error
}

// formats are how files are read, by how their names end.
var formats = map[string]func(name string, data []byte) []found{
	".json": readJSON, ".jsonl": readLines, ".ndjson": readLines, ".yaml": readYAML, ".yml": readYAML,
}

// readAll reads the records of files and folders, in their order; those of a
// folder in the order of their names. "-" is stdin.
func readAll(paths []string, stdin io.Reader) ([]found, error) {
	var all []found
	for _, path := range paths {
		if path == "-" {
			data, err := io.ReadAll(stdin)
			if err != nil {
				return nil, fmt.Errorf("read stdin: %w", err)
			}
			all = append(all, sniffed(data)("stdin", data)...)
			continue
		}
		files, err := filesOf(path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			all = append(all, formats[filepath.Ext(file)](file, data)...)
		}
	}
	return all, nil
}

// sniffed is how data is read that has no name.
func sniffed(data []byte) func(string, []byte) []found {
	if text := bytes.TrimSpace(data); len(text) > 0 && (text[0] == '{' || text[0] == '[') {
		return readJSON
	}
	return readYAML
}

// filesOf are the files with records that path is, or has below it; what
// begins with a dot is passed over.
func filesOf(path string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(path, func(at string, entry fs.DirEntry, err error) error {
		hidden := at != path && strings.HasPrefix(entry.Name(), ".")
		switch {
		case err != nil:
			return err
		case hidden && entry.IsDir():
			return fs.SkipDir
		case !hidden && !entry.IsDir() && formats[filepath.Ext(at)] != nil:
			files = append(files, at)
		}
		return nil
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: no .json, .jsonl, .yaml or .yml file", path)
	}
	slices.Sort(files)
	return files, err
}

// readLines reads a record a line. A broken line spoils no other.
func readLines(name string, data []byte) []found {
	var all []found
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		one := readJSON(name, line)
		for i := range one {
			one[i].source = fmt.Sprintf("%s:%d", name, n)
		}
		all = append(all, one...)
	}
	return all
}

// readJSON reads records that follow each other, or stand in arrays.
func readJSON(name string, data []byte) []found {
	d := jsontext.NewDecoder(bytes.NewReader(data), lenient)
	var all []found
	for lines := (counter{data: data}); ; {
		var value jsontext.Value
		var err error
		switch d.PeekKind() {
		case '[', ']', 0:
			_, err = d.ReadToken()
		default:
			value, err = d.ReadValue()
		}
		source := fmt.Sprintf("%s:%d", name, lines.at(int(d.InputOffset())-len(value)))
		switch {
		case errors.Is(err, io.EOF) && d.StackDepth() == 0:
			return all
		case err != nil:
			return append(all, found{source: source, err: fmt.Errorf("invalid JSON; the rest was skipped: %w", err)})
		case value != nil:
			all = append(all, found{source: source, text: value.Clone()})
		}
	}
}

// counter tells the lines of offsets that only grow.
type counter struct {
	data   []byte
	seen   int
	breaks int
}

func (c *counter) at(offset int) int {
	c.breaks += bytes.Count(c.data[c.seen:max(offset, c.seen)], []byte("\n"))
	c.seen = max(offset, c.seen)
	return c.breaks + 1
}
