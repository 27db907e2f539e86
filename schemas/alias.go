package schemas

import (
	"reflect"
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/google/jsonschema-go/jsonschema"
)

// MaxAliases bounds the names of the aliases of a record. Names that were deleted count, because the
// catalog keeps their delete markers.
const MaxAliases = 32

// aliasPattern is an ECMA-262 and RE2 regular expression. No semantic version matches it.
const aliasPattern = `^[a-z][a-z0-9-]{0,62}$`

var validAlias = regexp.MustCompile(aliasPattern)

// ValidAlias reports whether text is the name of an alias.
func ValidAlias(text string) bool { return validAlias.MatchString(text) }

var aliasName = limit{
	func(s *jsonschema.Schema) { s.Pattern = aliasPattern },
	func(c *check, field string, v reflect.Value) {
		if !ValidAlias(v.String()) {
			c.fail(field, "expected 1 to 63 lower-case letters, digits and hyphens, beginning with a letter, got %.100q",
				v.String())
		}
	},
}

// versionOrAlias is a text that can follow the id of a record and @.
var versionOrAlias = limit{
	func(s *jsonschema.Schema) {
		length(0, maxID).describe(s)
		s.Pattern = "^$|" + aliasPattern + "|" + versionPattern
	},
	func(c *check, field string, v reflect.Value) {
		if text := v.String(); text != "" && !ValidAlias(text) && !ValidVersion(text) {
			c.fail(field, "expected a semantic version such as 1.2.0, or an alias, got %.100q", text)
		}
	},
}

// AliasKey names an alias of the record of the tenant, or of the global one without a tenant.
type AliasKey struct {
	Kind     string  `json:"kind" doc:"skill, agent, tool, context_builder, guardrail or template"`
	ID       string  `json:"id"`
	Name     string  `json:"name" doc:"name of the alias, such as production"`
	TenantID *string `json:"tenant_id,omitzero" doc:"absent or null: global"`
}

func (k *AliasKey) validate(c *check) { c.kindID(k.Kind, k.ID) }

func (k *AliasKey) tenantField() tenantField { return tenantField{"tenant_id", &k.TenantID, nil} }

// PutAlias creates an alias or replaces it. Over HTTP the target is the body.
type PutAlias struct {
	AliasKey
	Target AliasTarget `json:"target,omitzero" doc:"absent: the newest revision"`
}

func (p *PutAlias) validate(c *check) {
	p.AliasKey.validate(c)
	if p.Target.Version != "" && p.Target.Revision != "" {
		c.fail("target", "expected either version or revision, got both")
	}
}

// AliasTarget selects a retained revision of a record; by default the newest one.
type AliasTarget struct {
	Version  string `json:"version,omitzero" doc:"the newest revision with this version, or the revision of this alias"`
	Revision string `json:"revision,omitzero" doc:"a revision of the history of the record"`
}

// UnmarshalJSON rejects unknown members: a misspelt one would select the newest revision.
func (t *AliasTarget) UnmarshalJSON(data []byte) error {
	type plain AliasTarget
	return json.Unmarshal(data, (*plain)(t), decodeOptions, json.RejectUnknownMembers(true))
}

// Alias is a name of a revision of a record, which is retained as long as the alias exists.
type Alias struct {
	Name     string `json:"name"`
	Revision string `json:"revision" doc:"consistency token of the registration; of an earlier catalog after the restore of a backup"`
	Version  string `json:"version,omitzero" doc:"version of the record"`
	StoredAt string `json:"stored_at,omitzero" doc:"time at which the alias was written, RFC 3339"`
}

// AliasStored is the response to a PutAlias.
type AliasStored struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	Alias
	Token ConsistencyToken `json:"-"` // of the alias
}

// CatalogRevision returns the token that makes a later read include the alias.
func (a AliasStored) CatalogRevision() ConsistencyToken { return a.Token }

// AliasDeleted is the response to the deletion of an alias.
type AliasDeleted struct {
	Token ConsistencyToken `json:"-"`
}

// CatalogRevision returns the token that makes a later read include the deletion.
func (a AliasDeleted) CatalogRevision() ConsistencyToken { return a.Token }

// AliasList lists the aliases of a record.
type AliasList struct {
	Aliases []Alias `json:"aliases" doc:"ordered by name"`
}
