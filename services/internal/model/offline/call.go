package offline

import (
	"encoding/json"
	"fmt"
	"slices"
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

// maxGroups is how many groups a result surely has room for.
const maxGroups = 900

// apart says whether the goal needs a call of its own: there are several
// goals, or too many groups to find one among them.
func (p plan) apart() bool {
	return p.goal != nil && (len(p.also) > 0 || p.goal.op == "during" || p.goal.op == "truthy" || p.goal.op == holds || p.goal.op == lacks || p.goal.field.column().distinct > maxGroups)
}

// input is a call of compute_stats for the plan's records, by group unless it
// is nil, that meet the goals too.
func (p plan) input(group *field, goals ...cond) statsInput {
	in := statsInput{DataKey: p.array.key, Filter: map[string]json.RawMessage{}, Metrics: []string{"count"}}
	if group != nil {
		in.GroupBy = group.path
	}
	for _, c := range slices.Concat(p.conds, goals) {
		if c.op == "unset" && p.goal != nil && c.at == p.goal.at {
			c.op = "set" // met takes the rest
		}
		in.Filter[c.field.path] = both(in.Filter[c.field.path], c.filter())
	}
	if p.metric != "" {
		in.Metrics = []string{p.metric}
	}
	return in
}

// both joins two limits of one field; clash has ruled out what cannot be.
func both(one, other json.RawMessage) json.RawMessage {
	if one == nil {
		return other
	}
	return slices.Concat(one[:len(one)-1], []byte(","), other[1:])
}

// limit says whether the condition bounds numbers from one side.
func (c cond) limit() bool { return slices.Contains([]string{"gt", "gte", "lt", "lte"}, c.op) }

// all are the conditions of the plan and what is asked of the records.
func (p plan) all() []cond {
	all := slices.Concat(p.conds, p.also)
	if p.goal != nil {
		all = append(all, *p.goal)
	}
	return all
}

// clash finds a field with two conditions that one filter cannot hold: a field
// has one filter, with each operator once.
func (p plan) clash() *field {
	all := p.all()
	for i, c := range all {
		for _, o := range all[:i] {
			if c.field == o.field && !(c.limit() && o.limit() && c.op != o.op && p.goal == nil) {
				return c.field
			}
		}
	}
	return nil
}

// unset asks for records without a value: where the field is null, or where it
// is not there. There is no filter for both; where both occur the plan counts
// the records that have a value and takes the rest.
func (c cond) unset() json.RawMessage {
	if column := c.field.column(); c.field.has("array") && column.nulls+column.missing == 0 {
		return json.RawMessage(`[]`)
	}
	if c.field.column().nulls > 0 {
		return json.RawMessage(`null`)
	}
	return json.RawMessage(`{"exists":false}`)
}

// others are the values of the field that the condition does not name.
func (c cond) others() []value {
	return slices.DeleteFunc(slices.Clone(c.field.values()), func(v value) bool {
		return slices.ContainsFunc(c.values, func(o value) bool { return o.text == v.text })
	})
}

// filter writes the condition as compute_stats understands it.
func (c cond) filter() json.RawMessage {
	switch c.op {
	case "true", "false":
		return json.RawMessage(c.op)
	case "truthy":
		return json.RawMessage(`{"ne":false,"exists":true}`)
	case "unset":
		return c.unset()
	case "set":
		return json.RawMessage(`{"ne":null}`)
	case "during":
		return json.RawMessage(fmt.Sprintf(`{"gte":%q,"lt":%q}`, c.num, c.until))
	case holds, lacks:
		return json.RawMessage(fmt.Sprintf(`{"contains":%s}`, c.values[0].json()))
	case "eq":
		return c.field.number(c.num)
	case "ne":
		if len(c.values) > 1 {
			return cond{values: c.others()}.filter()
		}
		return json.RawMessage(fmt.Sprintf(`{"ne":%s}`, c.values[0].json()))
	case "gt", "gte", "lt", "lte":
		return json.RawMessage(fmt.Sprintf(`{%q:%s}`, c.op, c.field.number(c.num)))
	}
	if len(c.values) == 1 {
		return c.values[0].json()
	}
	raws := make([]json.RawMessage, len(c.values))
	for i, v := range c.values {
		raws[i] = v.json()
	}
	out, err := json.Marshal(map[string][]json.RawMessage{"in": raws})
	if err != nil {
		panic(err) // the values are JSON already
	}
	return out
}
