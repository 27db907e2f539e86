package records

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"go.yaml.in/yaml/v3"
)

// readYAML reads the documents of a file; each is a record or a list of records.
func readYAML(name string, data []byte) []ParsedRecord {
	var list []ParsedRecord
	for d := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var document yaml.Node
		err := d.Decode(&document)
		switch {
		case errors.Is(err, io.EOF):
			return list
		case err != nil:
			return append(list, ParsedRecord{Source: name, Err: fmt.Errorf("invalid YAML; the rest was skipped: %w", err)})
		}
		list = append(list, listed(name, &document)...)
	}
}

// listed returns the records of a node, or nil for an empty node.
func listed(name string, n *yaml.Node) []ParsedRecord {
	switch {
	case n.Kind == yaml.DocumentNode || n.Kind == yaml.SequenceNode:
		var list []ParsedRecord
		for _, item := range n.Content {
			list = append(list, listed(name, item)...)
		}
		return list
	case n.ShortTag() == "!!null":
		return nil
	}
	parsed := ParsedRecord{Source: fmt.Sprintf("%s:%d", name, n.Line), node: n}
	parsed.Text, parsed.Err = YAMLToJSON(n)
	return []ParsedRecord{parsed}
}

// YAMLToJSON returns the JSON of a node.
func YAMLToJSON(n *yaml.Node) ([]byte, error) {
	var value any
	plain(n)
	if err := n.Decode(&value); err != nil {
		return nil, err
	}
	return json.Marshal(value, json.Deterministic(true))
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
