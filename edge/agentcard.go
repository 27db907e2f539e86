package edge

import (
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"

	"cairn/bus"
	"cairn/schemas"
)

// agentCard returns an action that responds with the agent card of a registered agent, as
// it was registered.
func agentCard() action {
	a := queryAction(func(x *exchange, key schemas.AgentKey) error {
		var agent struct {
			ID   string         `json:"agent_id"`
			Card jsontext.Value `json:"agent_card"`
		}
		record := schemas.RecordKey{Kind: schemas.KindAgent, ID: key.ID, TenantID: key.TenantID, Scope: key.Scope}
		reply, err := request(x, bus.GetRecord.Forward, schemas.RecordAt{RecordKey: record}, &agent)
		if err != nil {
			return err
		}
		if agent.Card.Kind() != jsontext.KindBeginObject {
			return schemas.ErrRecordNotFound.Because(fmt.Sprintf("the agent %q has no agent_card", agent.ID))
		}
		reply.Body = agent.Card
		x.reply(reply)
		return nil
	}, reflect.TypeFor[schemas.AgentCard]())
	a.Permission, a.Summary, a.Invalid = bus.GetRecord.Permission, "The agent card (A2A) of a registered agent", bus.GetRecord.Invalid
	return a
}
