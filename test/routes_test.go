package test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"cairn/schemas"
)

// route is a route in the OpenAPI description.
type route struct {
	method, path string
	Security     []map[string][]string // empty: no credential required
	Permission   schemas.Permission    `json:"x-permission"`
	Subject      string                `json:"x-nats-subject"`
}

func (r route) String() string { return r.method + " " + r.path }

var pathParameters = strings.NewReplacer("{request_id}", "$", "{skill_id}", "$.x", "{kind}", "skill", "{id}", "$.x",
	"{run}", "$",
	"{tenant_id}", "$", "{build}", "$", "{file}", "app.js", "{image}", "console-search.png")

// request returns a request to the route for data that do not exist.
func (r route) request() string { return r.method + " " + pathParameters.Replace(r.path) }

// routesOf returns all routes of the edge, sorted.
func routesOf(t testing.TB, c *client) []route {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]route `json:"paths"`
	}
	c.call(t, "GET /openapi.json", "").decode(t, &doc)
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
