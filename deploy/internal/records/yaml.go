package records

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"cairn/deploy/internal/output"
)

// ReadYAML reads the records of a text.
func ReadYAML(data []byte) []ParsedRecord { return readYAML("text", data) }

// readYAML reads the documents of a file; each is a record or a list of records.
func readYAML(name string, data []byte) []ParsedRecord {
	var all []ParsedRecord
	for d := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var document yaml.Node
		err := d.Decode(&document)
		switch {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			return append(all, ParsedRecord{Source: name, Err: fmt.Errorf("invalid YAML; the rest was skipped: %w", err)})
		}
		all = append(all, listed(name, &document)...)
	}
}

// listed returns the records of a node, or nil for an empty node.
func listed(name string, n *yaml.Node) []ParsedRecord {
	switch {
	case n.Kind == yaml.DocumentNode || n.Kind == yaml.SequenceNode:
		var all []ParsedRecord
		for _, item := range n.Content {
			all = append(all, listed(name, item)...)
		}
		return all
	case n.ShortTag() == "!!null":
		return nil
	}
	one := ParsedRecord{Source: fmt.Sprintf("%s:%d", name, n.Line)}
	var value any
	plain(n)
	if one.Err = n.Decode(&value); one.Err == nil {
		one.Text, one.Err = json.Marshal(value, json.Deterministic(true))
	}
	return []ParsedRecord{one}
}

// plain converts dates to strings: JSON has no dates.
func plain(n *yaml.Node) {
	if n.ShortTag() == "!!timestamp" {
		n.SetString(n.Value)
	}
	for _, item := range n.Content {
		plain(item)
	}
}

// YAML returns a JSON value as a YAML document with its members in order. Reading the
// document returns an equal value.
func YAML(v jsontext.Value) ([]byte, error) {
	node, err := yamlNode(jsontext.NewDecoder(bytes.NewReader(v), lenient))
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	e := yaml.NewEncoder(&text)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(node), e.Close()); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

// yamlNode reads one value.
func yamlNode(d *jsontext.Decoder) (*yaml.Node, error) {
	token, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case jsontext.KindBeginObject, jsontext.KindBeginArray:
		n := &yaml.Node{Kind: yaml.MappingNode}
		if token.Kind() == jsontext.KindBeginArray {
			n.Kind = yaml.SequenceNode
		}
		for d.PeekKind() != jsontext.KindEndObject && d.PeekKind() != jsontext.KindEndArray {
			item, err := yamlNode(d)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, item)
		}
		if len(n.Content) == 0 {
			n.Style = yaml.FlowStyle // {} and []
		}
		_, err := d.ReadToken()
		return n, err
	case jsontext.KindString:
		n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: token.String()}
		switch {
		case output.Escaped(n.Value) != n.Value:
			n.Style = yaml.DoubleQuotedStyle // the output escapes these characters, which only this style can express
		case strings.Contains(n.Value, "\n"):
			n.Style = yaml.LiteralStyle
		}
		return n, nil
	case jsontext.KindNumber:
		return number(token.String()), nil
	case jsontext.KindNull:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}, nil
	default:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: token.String()}, nil
	}
}

// number returns a number with its digits.
func number(digits string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: digits}
	if strings.ContainsAny(digits, ".eE") {
		n.Tag = "!!float"
	}
	return n
}

// Print writes records as YAML documents, or as JSON: an array, or with single the record
// alone.
func Print(out io.Writer, format string, list []jsontext.Value, single bool) error {
	if format == "json" {
		if single && len(list) == 1 {
			return output.JSON(out, list[0])
		}
		return output.JSON(out, append([]jsontext.Value{}, list...)) // [] without records
	}
	for _, v := range list {
		text, err := YAML(v)
		if err != nil {
			return err
		}
		if len(list) > 1 {
			text = append([]byte("---\n"), text...)
		}
		if _, err := out.Write(text); err != nil {
			return err
		}
	}
	return nil
}
