package importer

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"cairn/deploy/internal/flags"
	"cairn/schemas"
)

// listOfCards is the member of a document that parse adds to a list of agent cards.
const listOfCards = "cards"

// readAgentCard returns the agent of an A2A agent card, of protocol version 0.3 or 1.0, or the agents of a list.
func readAgentCard(ctx context.Context, s *source) ([]entry, error) {
	doc, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	cards := []object{doc}
	if doc[listOfCards].Kind() == '[' {
		cards = nil
		if err := json.Unmarshal(doc[listOfCards], &cards); err != nil {
			return nil, flags.Usage(fmt.Errorf("expected a list of agent cards: %s", schemas.DecodingMessage(err)))
		}
	}
	list := make([]entry, len(cards))
	for i, card := range cards {
		location := s.name()
		if len(cards) > 1 {
			location = fmt.Sprintf("%s: card %d", location, i+1)
		}
		list[i] = cardEntry(location, card)
	}
	return list, nil
}

func cardEntry(location string, card object) entry {
	var c schemas.AgentCard
	if err := decode(card, &c); err != nil {
		return invalid(location, "expected an agent card: %w", err)
	}
	if problems := c.Check(); len(problems) > 0 {
		return invalid(location, "%s: %s", problems[0].Field, problems[0].Message)
	}
	text, err := json.Marshal(card, json.Deterministic(true))
	if err != nil {
		return invalid(location, "%w", err)
	}
	var names, examples []string
	for _, skill := range c.Skills {
		names, examples = append(names, skill.Name), append(examples, skill.Examples...)
	}
	return entryOf(location, agent{
		AgentID: "a2a." + segment(c.Name), DisplayName: c.Name, Description: c.Description, versioned: versionOf(c.Version),
		Capabilities: bounded(names), ExampleQueries: bounded(examples), Card: text,
	})
}
