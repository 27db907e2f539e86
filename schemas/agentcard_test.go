package schemas_test

import (
	"errors"
	"strings"
	"testing"

	"cairn/schemas"
)

// TestAgentCards validates agent cards of both versions of the protocol.
func TestAgentCards(t *testing.T) {
	t.Parallel()
	const rest = `"description":"d","version":"1"`
	skills := strings.Repeat(`{"id":"i","name":"n","description":"d"},`, 201)
	for _, row := range []struct{ name, card, field string }{
		{"version 1.0",
			`{"name":"n",` + rest + `,"supportedInterfaces":[{"url":"https://a","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, ""},
		{"version 0.3", `{"name":"n",` + rest + `,"url":"http://a/b","protocolVersion":"0.3.0","skills":[]}`, ""},
		{"another binding",
			`{"name":"n",` + rest + `,"supportedInterfaces":[{"url":"a:1","protocolBinding":"GRPC","protocolVersion":"1.0"}]}`,
			""},
		{"no name", `{` + rest + `,"url":"https://a"}`, "name"},
		{"no interface", `{"name":"n",` + rest + `}`, "supportedInterfaces"},
		{"a relative URL", `{"name":"n",` + rest + `,"url":"/a"}`, "url"},
		{"an interface without a binding",
			`{"name":"n",` + rest + `,"supportedInterfaces":[{"url":"https://a","protocolVersion":"1.0"}]}`,
			"supportedInterfaces[0].protocolBinding"},
		{"a script as icon", `{"name":"n",` + rest + `,"url":"https://a","iconUrl":"javascript:1"}`, "iconUrl"},
		{"a provider without a name", `{"name":"n",` + rest + `,"url":"https://a","provider":{"url":"https://a"}}`,
			"provider.organization"},
		{"a skill without a description", `{"name":"n",` + rest + `,"url":"https://a","skills":[{"id":"i","name":"n"}]}`,
			"skills[0].description"},
		{"tags that are no list",
			`{"name":"n",` + rest + `,"url":"https://a","skills":[{"id":"i","name":"n","description":"d","tags":"t"}]}`,
			"skills[0].tags"},
		{"capabilities that are no object", `{"name":"n",` + rest + `,"url":"https://a","capabilities":[]}`, "capabilities"},
		{"too many skills", `{"name":"n",` + rest + `,"url":"https://a","skills":[` + strings.TrimSuffix(skills, ",") + `]}`,
			"skills"},
		{"a description that is too long", `{"name":"n","version":"1","url":"https://a","description":"` + strings.Repeat("d",
			16<<10+1) + `"}`, "description"},
	} {
		_, err := schemas.Decode[schemas.RegisterAgent]([]byte(`{"agent_data":{"agent_id":"a","agent_card":`+row.card+`}}`),
			schemas.ErrInvalidRegistration)
		var e *schemas.Error
		switch {
		case row.field == "" && err != nil:
			t.Errorf("%s: %v", row.name, err)
		case row.field != "" && (!errors.As(err, &e) || len(e.Fields) != 1 ||
			e.Fields[0].Field != "agent_data.agent_card."+row.field):
			t.Errorf("%s: %v, want %s", row.name, err, row.field)
		}
	}
}

// TestStoredAgentCards reads records of earlier versions, which stored a card of any type.
func TestStoredAgentCards(t *testing.T) {
	t.Parallel()
	agent, err := schemas.DecodeStored[schemas.Agent](schemas.KindAgent,
		[]byte(`{"agent_id":"a","agent_card":"x","description":"d"}`))
	if err != nil || agent.AgentCard != nil || agent.Description != "d" {
		t.Errorf("%+v, %v", agent, err)
	}
}
