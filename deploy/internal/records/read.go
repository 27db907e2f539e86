// Package records reads records from files, validates them, and registers and removes them
// through the HTTP API.
package records

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
	"go.yaml.in/yaml/v3"
)

// ParsedRecord is a record of a file, or the error of reading it.
type ParsedRecord struct {
	Source string // file:line
	Text   jsontext.Value
	Err    error

	offset int        // of Text in a JSON file
	node   *yaml.Node // of a YAML file; nil: JSON
}

// Record parses the record or the body of a registration. A record without a tenant gets
// the given one, unless that is empty. Validate returns the error of a malformed record.
func (p ParsedRecord) Record(tenant string) Record {
	r := Record{Source: p.Source, err: p.Err}
	if p.Err == nil {
		r.err = r.read(p.Text, tenant)
	}
	return r
}

// formats maps file extensions to parsers.
var formats = map[string]func(name string, data []byte) []ParsedRecord{
	".json": readJSON, ".jsonl": ReadLines, ".ndjson": ReadLines, ".yaml": readYAML, ".yml": readYAML,
}

// ReadAll reads the records of files and directories in order; files of a directory are
// read in lexical order. "-" means stdin, which must have a record.
func ReadAll(paths []string, stdin io.Reader) ([]ParsedRecord, error) {
	var list []ParsedRecord
	for _, path := range paths {
		if path == "-" {
			data, err := io.ReadAll(stdin)
			if err != nil {
				return nil, fmt.Errorf("read stdin: %w", err)
			}
			parsed := Parse("stdin", data)
			if len(parsed) == 0 {
				return nil, errors.New("stdin: no records")
			}
			list = append(list, parsed...)
			continue
		}
		files, err := Files(path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			_, parsed, err := ReadFile(file)
			if err != nil {
				return nil, err
			}
			list = append(list, parsed...)
		}
	}
	return list, nil
}

// ReadFile returns the content of a file and its records.
func ReadFile(file string) ([]byte, []ParsedRecord, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	data = withoutMark(data)
	return data, Parse(file, data), nil
}

// Parse returns the records of data. The extension of the file determines the format, or else the first character.
func Parse(file string, data []byte) []ParsedRecord {
	data = withoutMark(data)
	if parse := formats[filepath.Ext(file)]; parse != nil {
		return parse(file, data)
	}
	if text := bytes.TrimSpace(data); len(text) > 0 && (text[0] == '{' || text[0] == '[') {
		return readJSON(file, data)
	}
	return readYAML(file, data)
}

// withoutMark removes a byte order mark.
func withoutMark(data []byte) []byte { return bytes.TrimPrefix(data, []byte("\uFEFF")) }

// Files returns path itself or the record files below it. It skips hidden files and
// directories.
func Files(path string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		hidden := file != path && strings.HasPrefix(entry.Name(), ".")
		switch {
		case err != nil:
			return err
		case hidden && entry.IsDir():
			return fs.SkipDir
		case !hidden && !entry.IsDir() && formats[filepath.Ext(file)] != nil:
			files = append(files, file)
		}
		return nil
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: no .json, .jsonl, .ndjson, .yaml or .yml file", path)
	}
	slices.Sort(files)
	return files, err
}

// ReadLines reads one record per line. A malformed line does not affect the others.
func ReadLines(name string, data []byte) []ParsedRecord {
	var list []ParsedRecord
	n, offset := 0, 0
	for line := range bytes.Lines(withoutMark(data)) {
		n++
		parsed := readJSON(name, line)
		for i := range parsed {
			parsed[i].Source = fmt.Sprintf("%s:%d", name, n)
			parsed[i].offset += offset
		}
		offset += len(line)
		list = append(list, parsed...)
	}
	return list
}

// readJSON reads a sequence of records or arrays of records.
func readJSON(name string, data []byte) []ParsedRecord {
	d := jsontext.NewDecoder(bytes.NewReader(data), lenient)
	var list []ParsedRecord
	for lines := (counter{data: data}); ; {
		var value jsontext.Value
		var err error
		switch d.PeekKind() {
		case '[', ']', 0:
			_, err = d.ReadToken()
		default:
			value, err = d.ReadValue()
		}
		offset := int(d.InputOffset()) - len(value)
		source := fmt.Sprintf("%s:%d", name, lines.at(offset))
		switch {
		case errors.Is(err, io.EOF) && d.StackDepth() == 0:
			return list
		case err != nil:
			return append(list, ParsedRecord{Source: source, Err: fmt.Errorf("invalid JSON; the rest was skipped: %w", err)})
		case value != nil:
			list = append(list, ParsedRecord{Source: source, Text: value.Clone(), offset: offset})
		}
	}
}

// counter converts ascending offsets to line numbers.
type counter struct {
	data    []byte
	counted int
	breaks  int
}

func (c *counter) at(offset int) int {
	c.breaks += bytes.Count(c.data[c.counted:max(offset, c.counted)], []byte("\n"))
	c.counted = max(offset, c.counted)
	return c.breaks + 1
}
