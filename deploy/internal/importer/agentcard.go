package importer

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
)

// agentCard contains the interpreted members of an A2A agent card, of protocol versions 0.3
// (url) and 1.0 (supportedInterfaces).
type agentCard struct {
	Name                string   `json:"name"`
	Description         string   `json:"description"`
	Version             string   `json:"version"`
	URL                 string   `json:"url"`
	SupportedInterfaces []object `json:"supportedInterfaces"`
	Skills              []struct {
		ID       string   `json:"id"`
		Name     string   `json:"name"`
		Examples []string `json:"examples"`
	} `json:"skills"`
}

func (c agentCard) validate() error {
	for _, field := range [][2]string{{"name", c.Name}, {"description", c.Description}, {"version", c.Version}} {
		if field[1] == "" {
			return fmt.Errorf("%s: required, and must not be empty", field[0])
		}
	}
	if c.URL == "" && len(c.SupportedInterfaces) == 0 {
		return errors.New("supportedInterfaces: required, and must not be empty")
	}
	for i, i10 := range c.SupportedInterfaces {
		if i10.text("url") == "" {
			return fmt.Errorf("supportedInterfaces[%d].url: required, and must not be empty", i)
		}
	}
	for i, s := range c.Skills {
		if s.ID == "" || s.Name == "" {
			return fmt.Errorf("skills[%d]: expected an id and a name", i)
		}
	}
	return nil
}

// readAgentCard returns the agent of an A2A agent card.
func readAgentCard(ctx context.Context, s *source) ([]entry, error) {
	doc, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	var c agentCard
	if err := decode(doc, &c); err != nil {
		return nil, fmt.Errorf("expected an agent card: %w", err)
	}
	if err := c.validate(); err != nil {
		return []entry{{place: s.name(), err: err}}, nil
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
