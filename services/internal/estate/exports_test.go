package estate_test

import (
	"slices"
	"testing"

	"cairn/services/internal/estate"
)

// exportCalls has one compute_stats call for each question about the exports of the evaluation data,
// as a person would write it.
var exportCalls = map[string]string{
	"x000": `{"data_key":"Reservations.Instances"}`,
	"x001": `{"data_key":"Reservations.Instances","group_by":"InstanceType"}`,
	"x002": `{"data_key":"Reservations.Instances","filter":{"State.Name":"stopped"}}`,
	"x003": `{"data_key":"Reservations.Instances","group_by":"Placement.AvailabilityZone"}`,
	"x004": `{"data_key":"Reservations.Instances","filter":{"Tags.env":"prod"}}`,
	"x005": `{"data_key":"Reservations.Instances","filter":{"Tags.owner":{"exists":false}}}`,
	"x006": `{"data_key":"Reservations.Instances","filter":{"State.Name":"running","InstanceType":"m5.large"}}`,
	"x007": `{"data_key":"Reservations.Instances.BlockDeviceMappings"}`,
	"x008": `{"data_key":"Reservations.Instances.BlockDeviceMappings","filter":{"Ebs.DeleteOnTermination":false}}`,
	"x009": `{"data_key":"Reservations.Instances.SecurityGroups","filter":{"GroupName":"db"},"metrics":["distinct:parent.InstanceId"]}`,
	"x010": `{"data_key":"Reservations"}`,
	"x011": `{"data_key":"items","group_by":"metadata.namespace"}`,
	"x012": `{"data_key":"items","filter":{"status.phase":"Pending"}}`,
	"x013": `{"data_key":"items.spec.containers"}`,
	"x014": `{"data_key":"items.spec.containers","filter":{"image":"nginx:1.27"}}`,
	"x015": `{"data_key":"items.spec.containers","group_by":"image"}`,
	"x016": `{"data_key":"items","filter":{"spec.nodeName":{"exists":false}}}`,
	"x017": `{"data_key":"items.spec.containers","filter":{"resources.limits.memory":{"exists":false}}}`,
	"x018": `{"data_key":"items.status.containerStatuses","metrics":["sum:restartCount"]}`,
	"x019": `{"data_key":"items.spec.containers","filter":{"parent.metadata.namespace":"shop"}}`,
	"x020": `{"data_key":"items.spec.containers","metrics":["sum:resources.requests.memory"]}`,
	"x021": `{"data_key":"_meta.hostvars"}`,
	"x022": `{"data_key":"_meta.hostvars","group_by":"os"}`,
	"x023": `{"data_key":"_meta.hostvars","filter":{"site":"rome","cpus":8}}`,
	"x024": `{"data_key":"_meta.hostvars","metrics":["sum:cpus"]}`,
	"x025": `{"data_key":"_meta.hostvars","filter":{"backup":{"exists":false}}}`,
	"x026": `{"data_key":"web.hosts"}`,
	"x027": `{"data_key":"bastion.hosts","names":{}}`,
	"x028": `{"data_key":"_meta.hostvars","group_by":"site"}`,
	"x029": `{"data_key":"items","filter":{"State.Status":"exited"}}`,
	"x030": `{"data_key":"items","group_by":"Config.Image"}`,
	"x031": `{"data_key":"items","filter":{"HostConfig.Privileged":true}}`,
	"x032": `{"data_key":"items.Mounts"}`,
	"x033": `{"data_key":"items.Mounts","filter":{"Type":"bind"}}`,
	"x034": `{"data_key":"items","filter":{"NetworkSettings.Networks.front":{"exists":true}}}`,
	"x035": `{"data_key":"items","filter":{"State.Status":"exited","State.ExitCode":137}}`,
	"x036": `{"data_key":"blockdevices.**","filter":{"type":"disk"}}`,
	"x037": `{"data_key":"blockdevices.**","filter":{"type":"part"}}`,
	"x038": `{"data_key":"blockdevices.**","filter":{"type":"lvm"}}`,
	"x039": `{"data_key":"blockdevices","filter":{"type":"disk"},"metrics":["sum:size"]}`,
	"x040": `{"data_key":"blockdevices","filter":{"type":"disk","rota":true}}`,
	"x041": `{"data_key":"items","filter":{"license":null}}`,
	"x042": `{"data_key":"items","group_by":"language"}`,
	"x043": `{"data_key":"items","filter":{"topics":{"contains":"nats"}}}`,
	"x044": `{"data_key":"items","filter":{"pushed_at":{"gte":"2024","lt":"2025"}}}`,
	"x045": `{"data_key":"items","filter":{"archived":true,"language":"Go"}}`,
	"x046": `{"data_key":"items","top":{"by":"stargazers_count"}}`,
	"x047": `{"data_key":"items","top":{"by":"pushed_at","order":"asc"}}`,
}

// TestExportQuestions checks that one call computes the answer of each question.
func TestExportQuestions(t *testing.T) {
	t.Parallel()
	type question struct {
		ID, Estate, Question string
		Answer               any     `json:"expected_answer"`
		Value                float64 `json:"expected_value"`
	}
	questions := readQuestions[question](t, "questions-exports.jsonl")
	estates := map[string]*estate.Estate{}
	for _, q := range questions {
		if estates[q.Estate] == nil {
			estates[q.Estate] = parse(t, string(readEval(t, q.Estate+".json")))
		}
		s, err := estates[q.Estate].Stats(t.Context(), query(t, exportCalls[q.ID]))
		if err != nil || !answers(s, q.Answer, q.Value) {
			t.Errorf("%s %s\n%s\nwant %v %v, got %s, error %v", q.ID, q.Question, exportCalls[q.ID], q.Answer, q.Value,
				encode(t, s), err)
		}
	}
	if len(questions) != len(exportCalls) {
		t.Errorf("%d questions, want %d", len(questions), len(exportCalls))
	}
}

// answers reports whether a result has the expected answer: a number, groups, the largest group, or names.
func answers(s estate.Stats, answer any, value float64) bool {
	switch want := answer.(type) {
	case float64:
		return float64(s.Total) == want
	case map[string]any:
		for _, g := range s.Groups {
			if want[g.Key] != float64(g.Value) && g.Key != estate.NullGroup {
				return false
			}
		}
		return s.GroupCount == len(want)
	case []any:
		var names []any
		for _, n := range s.Names {
			names = append(names, n.Name)
		}
		return slices.Equal(names, want)
	default:
		if len(s.Names) == 1 {
			return s.Names[0].Name == want && float64(s.Names[0].Value.Value) == value
		}
		return len(s.Groups) > 0 && s.Groups[0].Key == want && float64(s.Groups[0].Value) == value
	}
}
