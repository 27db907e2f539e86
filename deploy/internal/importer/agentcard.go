package importer

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"cairn/deploy/internal/flags"
	"cairn/schemas"
)

// readAgentCard returns the agent of an A2A agent card, of protocol version 0.3 or 1.0.
func readAgentCard(ctx context.Context, s *source) ([]entry, error) {
	doc, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	var c schemas.AgentCard
	if err := decode(doc, &c); err != nil {
		return nil, flags.Usage(fmt.Errorf("expected an agent card: %w", err))
	}
	if problems := c.Check(); len(problems) > 0 {
		return []entry{{location: s.name(), err: errors.New(problems[0].Field + ": " + problems[0].Message)}}, nil
	}
	text, err := json.Marshal(doc, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	var names, examples []string
	for _, skill := range c.Skills {
		names, examples = append(names, skill.Name), append(examples, skill.Examples...)
	}
	return []entry{entryOf(s.name(), agent{
		AgentID: "a2a." + segment(c.Name), DisplayName: c.Name, Description: c.Description, versioned: versionOf(c.Version),
		Capabilities: bounded(names), ExampleQueries: bounded(examples), Card: text,
	})}, nil
}
