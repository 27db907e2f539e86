package test

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// route is a row of the edge's table, as the edge says itself.
type route struct {
	method, path string
	Security     []map[string][]string // nil: everybody may ask
	Subject      string                `json:"x-nats-subject"`
}

func (r route) String() string { return r.method + " " + r.path }

var pathParameters = strings.NewReplacer("{request_id}", "$", "{kind}", "skill", "{id}", "$.x", "{run}", "$")

// request asks the route about what is not there.
func (r route) request() string { return r.method + " " + pathParameters.Replace(r.path) }

// routesOf are all routes of the edge.
func routesOf(t testing.TB, c *client) []route {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]route `json:"paths"`
	}
	a := c.ask(t, "GET /openapi.json", "")
	if err := json.Unmarshal([]byte(a.body), &doc); err != nil {
		t.Fatal(err)
	}
	var list []route
	for path, methods := range doc.Paths {
		for method, r := range methods {
			r.method, r.path = strings.ToUpper(method), path
			list = append(list, r)
		}
	}
	if len(list) < 20 {
		t.Fatalf("only %d routes: %v", len(list), list)
	}
	slices.SortFunc(list, func(a, b route) int { return cmp.Compare(a.String(), b.String()) })
	return list
}
