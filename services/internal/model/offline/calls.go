package offline

import "encoding/json"

const (
	inspectSchema = "inspect_schema"
	computeStats  = "compute_stats"

	overviewArrays = 12  // number of arrays that an overview breaks down
	maxGroups      = 900 // number of groups that always fit into a result
)

// call is a tool call of a plan.
type call struct {
	tool  string
	input input
}

// input is the input of a tool; inspect_schema takes the key only.
type input struct {
	DataKey string                     `json:"data_key"`
	GroupBy *string                    `json:"group_by,omitempty"`
	Filter  map[string]json.RawMessage `json:"filter,omitzero"`
	Metrics []string                   `json:"metrics,omitempty"`
}

// calls returns the plan's calls in order. They depend on the plan only, so that each
// turn of the conversation computes the same ones.
func (p plan) calls(arrays []*array) (out []call) {
	if p.intent == overview {
		for _, a := range arrays[:min(len(arrays), overviewArrays)] {
			out = append(out, plan{array: a, group: a.sorter()}.stats(false))
		}
		return out
	}
	if p.array == nil {
		return nil
	}
	out = []call{{inspectSchema, input{DataKey: p.array.key}}}
	if p.refuse == "" && p.intent != fields {
		out = append(out, p.stats(false))
		if p.apart() {
			out = append(out, p.stats(true))
		}
	}
	return out
}

// apart reports whether the goals need a separate call, because groups cannot express
// them or may be too many.
func (p plan) apart() bool {
	return p.intent != compare && len(p.goals) > 0 && (len(p.goals) > 1 || p.goals[0].labels == nil ||
		p.goals[0].field.column().Distinct > maxGroups)
}

// stats returns the call for the plan's records or, with goals, for those that meet the
// goals.
func (p plan) stats(goals bool) call {
	by, conds := "", p.conds
	switch {
	case p.apart():
	case len(p.goals) > 0:
		by = p.goals[0].field.path
	case p.group != nil:
		by = p.group.path
	}
	if goals || p.intent == compare {
		conds = append(conds[:len(conds):len(conds)], p.goals...)
	}
	in := input{p.array.key, &by, map[string]json.RawMessage{}, []string{"count"}}
	for _, c := range conds {
		if in.Filter[c.field.path] = c.filter; c.filter == nil {
			in.Filter[c.field.path] = c.inverse
		}
	}
	if p.measure != nil {
		in.Metrics = []string{p.metric + ":" + p.measure.path}
	}
	return call{computeStats, in}
}
