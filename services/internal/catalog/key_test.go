package catalog_test

import (
	"errors"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"cairn/schemas"
	"cairn/services/internal/catalog"
)

func TestKeyString(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		key  catalog.Key
		want string
	}{
		{"global", catalog.Key{Kind: "skill", ID: "net.diagnose"}, "skill._global.net.diagnose"},
		{"a tenant", catalog.Key{Kind: "tool", Tenant: "acme", ID: "aws.ec2.describe-instances"},
			"tool.acme.aws.ec2.describe-instances"},
		{"a tenant with a dot stays one token", catalog.Key{Kind: "tool", Tenant: "acme.eu", ID: "a"}, "tool.=YWNtZS5ldQ.a"},
		{"other characters by segment", catalog.Key{Kind: "agent", ID: "net.prüfer*.x"}, "agent._global.net.=cHLDvGZlcio.x"},
		{"an id that looks encoded", catalog.Key{Kind: "agent", ID: "=YWNtZS5ldQ"}, "agent._global.=PVlXTnRaUzVsZFE"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			if got := row.key.String(); got != row.want {
				t.Errorf("String() = %q, want %q", got, row.want)
			}
			if got, err := catalog.ParseKey(row.want); got != row.key || err != nil {
				t.Errorf("ParseKey(%q) = %v, %v, want %v", row.want, got, err, row.key)
			}
		})
	}
}

// TestAliasKeysAreNoRecords: projections ignore aliases, also those of the tenant of the name of a kind.
func TestAliasKeysAreNoRecords(t *testing.T) {
	t.Parallel()
	for _, tenant := range []string{"", "acme", "skill", "alias"} {
		key := catalog.Key{Kind: schemas.KindSkill, Tenant: tenant, ID: "net.diagnose", Alias: "production"}
		if got, err := catalog.ParseKey(key.String()); !errors.Is(err, catalog.ErrBadKey) {
			t.Errorf("ParseKey(%q) = %#v, %v, want %v", key, got, err, catalog.ErrBadKey)
		}
	}
}

// TestKeyEncodingIsInjective encodes random keys: each encoding is valid under
// ADR-8, decodes to its key, and is unique.
func TestKeyEncodingIsInjective(t *testing.T) {
	t.Parallel()
	allowed := regexp.MustCompile(`^[-/_=\.a-zA-Z0-9]+$`)
	random := rand.New(rand.NewPCG(3, 4))
	encoded := map[string]catalog.Key{}
	for range 50_000 {
		key := randomKey(random)
		s := key.String()
		if !allowed.MatchString(s) || strings.Contains(s, "..") || strings.HasSuffix(s, ".") {
			t.Fatalf("%#v is encoded %q", key, s)
		}
		if tokens := strings.Count(s, "."); tokens != 2+strings.Count(key.ID, ".") {
			t.Fatalf("%#v is encoded %q: wrong number of tokens", key, s)
		}
		if back, err := catalog.ParseKey(s); back != key || err != nil {
			t.Fatalf("ParseKey(%q) = %#v, %v, want %#v", s, back, err, key)
		}
		if other, ok := encoded[s]; ok && other != key {
			t.Fatalf("%#v and %#v are both encoded %q", key, other, s)
		}
		encoded[s] = key
	}
}

// randomKey returns a short key, so that collisions are likely, mostly of
// characters with a meaning in NATS or in the encoding.
func randomKey(random *rand.Rand) catalog.Key {
	text := func(alphabet string) string {
		runes := []rune(alphabet)
		var b strings.Builder
		for range 1 + random.IntN(4) {
			if random.IntN(20) == 0 {
				b.WriteRune(rune(random.IntN(0x10FFFF)))
				continue
			}
			b.WriteRune(runes[random.IntN(len(runes))])
		}
		return b.String()
	}
	var segments []string
	for range 1 + random.IntN(3) {
		segments = append(segments, text("aYQ=-_/*>$:~é漢🙂"))
	}
	key := catalog.Key{Kind: schemas.Kinds()[random.IntN(6)], ID: strings.Join(segments, ".")}
	if random.IntN(2) == 0 {
		key.Tenant = text("aYQ=._/*> \x00é")
	}
	// A random character may be a dot at the edge of a segment.
	if strings.Trim(key.ID, ".") != key.ID || strings.Contains(key.ID, "..") {
		return randomKey(random)
	}
	return key
}

func TestMaxLengthIDs(t *testing.T) {
	t.Parallel()
	c, _ := open(t)
	for _, id := range []string{
		strings.Repeat("🙂", 256), strings.Repeat("🙂.", 127) + "🙂", strings.Repeat("a.", 127) + "a",
	} {
		key := catalog.Key{Kind: schemas.KindContextBuilder, Tenant: strings.Repeat("🙂", 256), ID: id}
		if _, err := c.Put(testContext(t), key, record); err != nil {
			t.Errorf("id of %d bytes: %v", len(id), err)
		}
		if _, err := c.Get(testContext(t), key); err != nil {
			t.Errorf("id of %d bytes: %v", len(id), err)
		}
	}
}

func TestBadKeys(t *testing.T) {
	t.Parallel()
	c, _ := open(t)
	for _, key := range []catalog.Key{
		{}, {Kind: "skill"}, {Kind: "playbook", ID: "a"}, {Kind: "skill", ID: ".a"}, {Kind: "skill", ID: "a."},
		{Kind: "skill", ID: "a..b"}, {Kind: "skill", Tenant: schemas.GlobalTenant, ID: "a"},
		{Kind: "skill", ID: strings.Repeat("a", 4000)},
	} {
		if _, err := c.Put(t.Context(), key, record); !errors.Is(err, catalog.ErrBadKey) {
			t.Errorf("Put(%#v): %v", key, err)
		}
	}
	for _, encoded := range []string{
		"", "skill", "skill.acme", "skill.acme.", "playbook.acme.a", "skill..a", "skill.acme.a..b",
		"skill.acme.=YQ", "skill.acme.=", "skill.acme.=!", "skill.=X2dsb2JhbA.a", "skill.acme.=xx=", "skill.a*.b",
	} {
		if key, err := catalog.ParseKey(encoded); !errors.Is(err, catalog.ErrBadKey) {
			t.Errorf("ParseKey(%q) = %#v, %v", encoded, key, err)
		}
	}
}
