package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"go.yaml.in/yaml/v3"
)

// readYAML reads the documents of a file; each is a record or a list of records.
func readYAML(name string, data []byte) []found {
	var all []found
	for d := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var document yaml.Node
		err := d.Decode(&document)
		switch {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			return append(all, found{source: name, err: fmt.Errorf("invalid YAML; the rest was skipped: %w", err)})
		}
		all = append(all, listed(name, &document)...)
	}
}

// listed returns the records of a node, or nil for an empty node.
func listed(name string, n *yaml.Node) []found {
	switch {
	case n.Kind == yaml.DocumentNode || n.Kind == yaml.SequenceNode:
		var all []found
		for _, item := range n.Content {
			all = append(all, listed(name, item)...)
		}
		return all
	case n.ShortTag() == "!!null":
		return nil
	}
	one := found{source: fmt.Sprintf("%s:%d", name, n.Line)}
	var value any
	plain(n)
	if one.err = n.Decode(&value); one.err == nil {
		one.text, one.err = json.Marshal(value, json.Deterministic(true))
	}
	return []found{one}
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
