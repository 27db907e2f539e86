package scope_test

import (
	"slices"
	"testing"

	"cairn/services/internal/scope"
)

func TestScopeTenants(t *testing.T) {
	t.Parallel()
	for s, want := range map[scope.Scope][]string{scope.Global: {""}, "acme": {"acme", ""}} {
		if got := s.Tenants(); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", s, got, want)
		}
	}
}

func TestScopeFirst(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		scope   scope.Scope
		tenants []string // tenants with a record of the id
		want    string
		ok      bool
	}{
		{"the tenant's record shadows the global one", "acme", []string{"", "acme"}, "acme", true},
		{"the global one is the fallback", "acme", []string{""}, "", true},
		{"another tenant's is not in scope", "acme", []string{"other"}, "", false},
		{"a tenant's is not in the global scope", scope.Global, []string{"acme"}, "", false},
		{"the global one is in the global scope", scope.Global, []string{"acme", ""}, "", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, ok := row.scope.First(func(tenant string) bool { return slices.Contains(row.tenants, tenant) })
			if got != row.want || ok != row.ok {
				t.Errorf("got %q, %v, want %q, %v", got, ok, row.want, row.ok)
			}
		})
	}
}

func TestScopeString(t *testing.T) {
	t.Parallel()
	for s, want := range map[scope.Scope]string{scope.Global: "the global collection",
		"acme": `tenant "acme" or the global collection`} {
		if got := s.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
