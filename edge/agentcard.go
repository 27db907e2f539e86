package edge

import (
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"cairn/bus"
	"cairn/schemas"
)

// agentCard returns an action that responds with the agent card of a registered agent, as
// it was registered.
func agentCard() action {
	e := bus.GetRecord
	request := reflect.TypeFor[schemas.AgentKey]()
	known := parametersOf(request)
	return action{
		needs: e.Permission, summary: "The agent card (A2A) of a registered agent", request: request, reply: reflect.TypeFor[schemas.AgentCard](),
		invalid: e.Invalid, inURL: true,
		answer: func(x *exchange) error {
			body, wrong := known.read(x.vars, x.r.URL.RawQuery)
			if len(wrong) > 0 {
				return e.Invalid.With(wrong...)
			}
			reply, err := x.send(e.Forward, append([]byte(`{"kind":"`+schemas.KindAgent+`",`), body[1:]...))
			if err != nil {
				return err
			}
			var agent struct {
				ID   string         `json:"agent_id"`
				Card jsontext.Value `json:"agent_card"`
			}
			if err := json.Unmarshal(reply.Body, &agent); err != nil {
				return err
			}
			if agent.Card.Kind() != jsontext.KindBeginObject {
				return schemas.ErrRecordNotFound.Because(fmt.Sprintf("the agent %q has no agent_card", agent.ID))
			}
			reply.Body = agent.Card
			x.reply(reply)
			return nil
		},
	}
}
