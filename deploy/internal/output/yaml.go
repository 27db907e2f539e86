package output

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// YAML returns a JSON value as a YAML document with its members in order. Reading the
// document returns an equal value.
func YAML(v jsontext.Value) ([]byte, error) {
	node, err := yamlNode(jsontext.NewDecoder(bytes.NewReader(v), jsontext.AllowDuplicateNames(true)))
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
		case Escaped(n.Value) != n.Value:
			n.Style = yaml.DoubleQuotedStyle // the output escapes these characters, which only this style can express
		case strings.Contains(n.Value, "\n"):
			n.Style = yaml.LiteralStyle
		}
		return n, nil
	case jsontext.KindNumber:
		n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: token.String()}
		if strings.ContainsAny(n.Value, ".eE") {
			n.Tag = "!!float"
		}
		return n, nil
	case jsontext.KindNull:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}, nil
	default:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: token.String()}, nil
	}
}

// Values writes JSON values as YAML documents, or as JSON: an array, or with single the value
// alone.
func Values(out io.Writer, format string, list []jsontext.Value, single bool) error {
	if format == "json" {
		if single && len(list) == 1 {
			return JSON(out, list[0])
		}
		return JSON(out, append([]jsontext.Value{}, list...)) // [] without values
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

// Value writes v as JSON or YAML.
func Value(out io.Writer, format string, v any) error {
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return err
	}
	return Values(out, format, []jsontext.Value{text}, true)
}
