package offline

import (
	"encoding/json"
	"fmt"
)

// statsInput is what compute_stats is asked.
type statsInput struct {
	DataKey string                     `json:"data_key"`
	GroupBy string                     `json:"group_by"`
	Filter  map[string]json.RawMessage `json:"filter"`
	Metrics []string                   `json:"metrics"`
}

// inspectInput is what inspect_schema is asked.
type inspectInput struct {
	DataKey string `json:"data_key"`
}

// input is the call of compute_stats that gives the plan's figures.
func (p plan) input() statsInput {
	in := statsInput{DataKey: p.array.key, Filter: map[string]json.RawMessage{}, Metrics: []string{"count"}}
	if p.group != nil {
		in.GroupBy = p.group.path
	}
	for _, c := range p.conds {
		in.Filter[c.field.path] = c.filter()
	}
	if p.metric != "" {
		in.Metrics = []string{p.metric}
	}
	return in
}

// filter writes the condition as compute_stats understands it.
func (c cond) filter() json.RawMessage {
	switch c.op {
	case "true", "false":
		return json.RawMessage(c.op)
	case "set":
		return json.RawMessage(`{"ne":null}`)
	case "unset":
		return json.RawMessage(`null`)
	case "eq":
		return c.field.number(c.num)
	case "ne":
		return json.RawMessage(fmt.Sprintf(`{"ne":%s}`, c.values[0].raw))
	case "gt", "gte", "lt", "lte":
		return json.RawMessage(fmt.Sprintf(`{%q:%s}`, c.op, c.num))
	}
	if len(c.values) == 1 {
		return c.values[0].raw
	}
	raws := make([]json.RawMessage, len(c.values))
	for i, v := range c.values {
		raws[i] = v.raw
	}
	out, err := json.Marshal(map[string][]json.RawMessage{"in": raws})
	if err != nil {
		panic(err) // the values are JSON already
	}
	return out
}
