package records

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"cairn/schemas"
)

const examplesField = "example_queries"

// errLayout is the error of a record whose text InsertExamples cannot change.
var errLayout = errors.New("the layout of the record is not supported: add " + examplesField + " yourself")

// InsertExamples returns data, the content of a file, with more example queries for its record i, which is a
// skill. The rest of the file is unchanged.
func InsertExamples(file string, data []byte, i int, queries []string) ([]byte, error) {
	list := Parse(file, data)
	p := list[i]
	quoted := make([]string, len(queries))
	for n, query := range queries {
		text, err := jsontext.AppendQuote(nil, query) // also a string of YAML
		if err != nil {
			return nil, err
		}
		quoted[n] = string(text)
	}
	var offset int
	var text string
	if p.node != nil {
		offset, text = insertYAML(data, p.node, quoted)
	} else {
		offset, text = insertJSON(p.Text, quoted)
		offset += p.offset
	}
	if text == "" {
		return nil, errLayout
	}
	edited := slices.Insert(slices.Clone(data), offset, []byte(text)...)
	after := Parse(file, edited)
	if len(after) != len(list) {
		return nil, errLayout
	}
	var skill schemas.Skill
	r := after[i].Record("")
	err := json.Unmarshal(r.JSON, &skill)
	if read := skill.ExampleQueries; err != nil || len(read) < len(queries) ||
		!slices.Equal(read[:len(queries)], queries) {
		return nil, errLayout
	}
	return edited, nil
}

// insertJSON returns the text to insert at an offset of an object; an empty text: errLayout.
func insertJSON(object jsontext.Value, quoted []string) (offset int, text string) {
	base := 0
	if start, end := memberValue(object, schemas.Wrapper(schemas.KindSkill)); end > 0 {
		base, object = start, object[start:end]
	}
	list := strings.Join(quoted, ", ")
	if start, end := memberValue(object, examplesField); end > 0 {
		return base + start + 1, itemsOf(object[start:end], list)
	}
	_, end := memberValue(object, idOf(schemas.KindSkill))
	return base + end, `, "` + examplesField + `": [` + list + `]`
}

// itemsOf returns the items of list for the beginning of a JSON array or flow sequence; empty: array is none.
func itemsOf(array []byte, list string) string {
	rest, ok := bytes.CutPrefix(array, []byte("["))
	switch {
	case !ok:
		return ""
	case bytes.HasPrefix(bytes.TrimSpace(rest), []byte("]")):
		return list
	}
	return list + ", "
}

// memberValue returns the offsets of the value of a member; 0: the object does not have it.
func memberValue(object jsontext.Value, name string) (start, end int) {
	d := jsontext.NewDecoder(bytes.NewReader(object), lenient)
	_, err := d.ReadToken()
	for err == nil && d.PeekKind() == jsontext.KindString {
		key, _ := d.ReadToken() // its kind was peeked
		matches := key.String() == name
		var value jsontext.Value
		if value, err = d.ReadValue(); err == nil && matches {
			return int(d.InputOffset()) - len(value), int(d.InputOffset())
		}
	}
	return 0, 0
}

// insertYAML is insertJSON for a mapping of a document.
func insertYAML(data []byte, mapping *yaml.Node, quoted []string) (offset int, text string) {
	if body := valueOf(mapping, schemas.Wrapper(schemas.KindSkill)); body != nil {
		mapping = body
	}
	list := strings.Join(quoted, ", ")
	examples := valueOf(mapping, examplesField)
	switch {
	case examples != nil && examples.Kind == yaml.SequenceNode && len(examples.Content) > 0 &&
		examples.Style&yaml.FlowStyle == 0:
		start, item := lineOf(data, examples), offsetOf(data, examples.Content[0])
		if dash := string(data[start:item]); strings.TrimSpace(dash) == "-" {
			return start, dash + strings.Join(quoted, "\n"+dash) + "\n"
		}
		return 0, ""
	case examples != nil:
		offset = offsetOf(data, examples) + 1
		return offset, itemsOf(data[offset-1:], list)
	case mapping.Style&yaml.FlowStyle != 0:
		return offsetOf(data, mapping) + 1, examplesField + ": [" + list + "], "
	}
	id := valueOf(mapping, idOf(schemas.KindSkill))
	if id == nil {
		return 0, ""
	}
	end := offsetOf(data, id)
	line, _, _ := bytes.Cut(data[end:], []byte("\n"))
	indent := "\n" + strings.Repeat(" ", mapping.Column-1)
	item := indent + "  - "
	return end + len(bytes.TrimRight(line, "\r")), indent + examplesField + ":" + item + strings.Join(quoted, item)
}

// valueOf returns the value of a member of a mapping; nil: none.
func valueOf(mapping *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content) && mapping.Kind == yaml.MappingNode; i += 2 {
		if mapping.Content[i].Value == name {
			return mapping.Content[i+1]
		}
	}
	return nil
}

// lineOf returns the offset of the line of n.
func lineOf(data []byte, n *yaml.Node) (offset int) {
	for range n.Line - 1 {
		offset += bytes.IndexByte(data[offset:], '\n') + 1
	}
	return offset
}

// offsetOf returns the offset of n, whose column counts characters.
func offsetOf(data []byte, n *yaml.Node) int {
	start := lineOf(data, n)
	before := []rune(string(data[start:]))[:n.Column-1]
	return start + len(string(before))
}
