package main

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"cairn/deploy/internal/records"
	"cairn/schemas"
)

// The purpose of a benchmark skill combines a task, a thing and a place.
var (
	benchTasks = []string{"find unused", "list overloaded", "count unpatched", "audit the cost of", "forecast the growth of",
		"explain alerts about", "compare the latency of", "plan the migration of", "check the backups of", "rank the risk of"}
	benchThings = []string{"volumes", "hosts", "virtual machines", "switches", "load balancers", "databases", "certificates",
		"clusters", "queues", "storage pools", "firewall rules", "licences", "containers", "subnets", "tape libraries", "snapshots"}
	benchPlaces = []string{"in the data center", "at the edge sites", "of a business unit", "in the cloud region", "during the night", "over a quarter"}
)

// benchPhrase returns the purpose of skill n.
func benchPhrase(n int) string {
	tasks, things := len(benchTasks), len(benchThings)
	text := benchTasks[n%tasks] + " " + benchThings[n/tasks%things] + " " + benchPlaces[n/tasks/things%len(benchPlaces)]
	if round := n / tasks / things / len(benchPlaces); round > 0 {
		text += fmt.Sprintf(", variant %d", round)
	}
	return text
}

// benchSkill returns skill n, which refers to a context builder and a tool.
func benchSkill(n int) schemas.Skill {
	domain := fmt.Sprintf("bench%d", n%8)
	return schemas.Skill{
		SkillID: benchID(n), Domain: domain, Purpose: benchPhrase(n),
		Description:       "Can " + benchPhrase(n) + ", from the inventory and its history.",
		ExampleQueries:    []string{"please " + benchPhrase(n)},
		ContextBuilderIDs: []string{fmt.Sprintf("ctx.bench%d", n%16)},
		ToolIDs:           []string{fmt.Sprintf("bench.tools.t%d", n%24)},
	}
}

func benchID(n int) string { return fmt.Sprintf("bench%d.s%d", n%8, n) }

// benchRecords returns the tools, context builders and the guardrail of the benchmark,
// followed by the given number of skills of the tenant.
func benchRecords(tenant string, skills int) ([]records.Record, error) {
	var all []any
	for n := range 24 {
		all = append(all, schemas.Tool{ToolID: fmt.Sprintf("bench.tools.t%d", n), ToolClass: "inventory.read", Provider: "bench", Description: "Reads " + benchThings[n%len(benchThings)] + "."})
	}
	for n := range 16 {
		all = append(all, schemas.ContextBuilder{ContextBuilderID: fmt.Sprintf("ctx.bench%d", n), ContextType: "inventory", Description: "What is known of " + benchThings[n] + ".",
			ToolIDs: []string{fmt.Sprintf("bench.tools.t%d", n)}})
	}
	all = append(all, schemas.Guardrail{GuardrailID: "guard.bench", Description: "Change nothing."})
	for n := range skills {
		all = append(all, benchSkill(n))
	}
	list := make([]records.Record, len(all))
	for i, r := range all {
		text, err := json.Marshal(r)
		if err != nil {
			return nil, err
		}
		list[i] = records.Found{Source: "bench", Text: text}.Record(tenant)
		if err := list[i].Fault(); err != nil {
			return nil, err
		}
	}
	return list, nil
}
