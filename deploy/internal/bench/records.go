package bench

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"cairn/deploy/internal/records"
	"cairn/schemas"
)

// The purpose of a benchmark skill combines a task, an object and a location.
var (
	purposeTasks = []string{"find unused", "list overloaded", "count unpatched", "audit the cost of",
		"forecast the growth of",
		"explain alerts about", "compare the latency of", "plan the migration of", "check the backups of", "rank the risk of"}
	purposeThings = []string{"volumes", "hosts", "virtual machines", "switches", "load balancers", "databases",
		"certificates",
		"clusters", "queues", "storage pools", "firewall rules", "licences", "containers", "subnets", "tape libraries",
		"snapshots"}
	purposePlaces = []string{"in the data center", "at the edge sites", "of a business unit", "in the cloud region",
		"during the night", "over a quarter"}
)

// purpose returns the purpose of skill n.
func purpose(n int) string {
	tasks, things := len(purposeTasks), len(purposeThings)
	text := purposeTasks[n%tasks] + " " + purposeThings[n/tasks%things] + " " +
		purposePlaces[n/tasks/things%len(purposePlaces)]
	if round := n / tasks / things / len(purposePlaces); round > 0 {
		text += fmt.Sprintf(", variant %d", round)
	}
	return text
}

// newSkill returns skill n, which refers to a context builder and a tool.
func newSkill(n int) schemas.Skill {
	domain := fmt.Sprintf("bench%d", n%8)
	return schemas.Skill{
		SkillID: skillID(n), Domain: domain, Purpose: purpose(n),
		Description:       "Can " + purpose(n) + ", from the inventory and its history.",
		ExampleQueries:    []string{"please " + purpose(n)},
		ContextBuilderIDs: []string{fmt.Sprintf("ctx.bench%d", n%16)},
		ToolIDs:           []string{fmt.Sprintf("bench.tools.t%d", n%24)},
	}
}

func skillID(n int) string { return fmt.Sprintf("bench%d.s%d", n%8, n) }

// newRecords returns the tools, context builders and the guardrail of the benchmark,
// followed by the given number of skills of the tenant.
func newRecords(tenant string, skills int) ([]records.Record, error) {
	var values []any
	for n := range 24 {
		values = append(values, schemas.Tool{
			ToolID:      fmt.Sprintf("bench.tools.t%d", n),
			ToolClass:   "inventory.read",
			Provider:    "bench",
			Description: "Reads " + purposeThings[n%len(purposeThings)] + ".",
		})
	}
	for n := range 16 {
		values = append(values, schemas.ContextBuilder{
			ContextBuilderID: fmt.Sprintf("ctx.bench%d", n),
			ContextType:      "inventory",
			Description:      "Facts about " + purposeThings[n] + ".",
			ToolIDs:          []string{fmt.Sprintf("bench.tools.t%d", n)},
		})
	}
	values = append(values, schemas.Guardrail{GuardrailID: "guard.bench", Description: "Change nothing."})
	for n := range skills {
		values = append(values, newSkill(n))
	}
	list := make([]records.Record, len(values))
	for i, r := range values {
		text, err := json.Marshal(r)
		if err != nil {
			return nil, err
		}
		list[i] = records.ParsedRecord{Source: "bench", Text: text}.Record(tenant)
		if err := list[i].Validate(); err != nil {
			return nil, err
		}
	}
	return list, nil
}
