package offline

import (
	"encoding/json"
)

// step is a tool call that a plan needs.
type step struct {
	tool  string
	input any
}

const (
	inspectSchema = "inspect_schema"
	computeStats  = "compute_stats"

	overviewArrays = 12  // how many arrays an overview breaks down
	maxGroups      = 900 // how many groups a result surely has room for
)

// inspectInput is what inspect_schema is asked.
type inspectInput struct {
	DataKey string `json:"data_key"`
}

// statsInput is what compute_stats is asked.
type statsInput struct {
	DataKey string                     `json:"data_key"`
	GroupBy string                     `json:"group_by"`
	Filter  map[string]json.RawMessage `json:"filter"`
	Metrics []string                   `json:"metrics"`
}

// steps are the calls of the plan, in order. They depend on nothing but the
// plan, so that each turn of the conversation finds the same ones.
func (p plan) steps(arrays []*array) []step {
	if p.intent == overview {
		var out []step
		for _, a := range arrays[:min(len(arrays), overviewArrays)] {
			out = append(out, step{computeStats, plan{array: a, group: a.sorter()}.input(false)})
		}
		return out
	}
	if p.array == nil {
		return nil
	}
	out := []step{{inspectSchema, inspectInput{p.array.key}}}
	if p.refuse == "" && p.intent != fields {
		out = append(out, step{computeStats, p.input(false)})
		if p.apart() {
			out = append(out, step{computeStats, p.input(true)})
		}
	}
	return out
}

// apart says whether the goals need a call of their own: groups cannot tell
// them, or there are too many groups to find one among.
func (p plan) apart() bool {
	return p.intent != compare && len(p.goals) > 0 && (len(p.goals) > 1 || p.goals[0].labels == nil || p.goals[0].field.column().Distinct > maxGroups)
}

// input is a call of compute_stats for the plan's records; with the goals, for
// those of them that meet the goals.
func (p plan) input(goals bool) statsInput {
	in := statsInput{DataKey: p.array.key, Filter: map[string]json.RawMessage{}, Metrics: []string{"count"}}
	if p.group != nil && !p.apart() {
		in.GroupBy = p.group.path
	} else if len(p.goals) > 0 && !p.apart() {
		in.GroupBy = p.goals[0].field.path
	}
	for _, c := range p.conds {
		in.Filter[c.field.path] = c.filter
	}
	for _, c := range p.goals {
		if goals || p.intent == compare {
			if in.Filter[c.field.path] = c.filter; c.filter == nil {
				in.Filter[c.field.path] = c.inverse
			}
		}
	}
	if p.measure != nil {
		in.Metrics = []string{p.metric + ":" + p.measure.path}
	}
	return in
}
