package schemas_test

import (
	"regexp"
	"strings"
	"testing"

	"cairn/schemas"
)

// FuzzConsistencyToken compares the parser with the published pattern.
func FuzzConsistencyToken(f *testing.F) {
	pattern := regexp.MustCompile(schemas.TokenPattern)
	for _, seed := range []string{
		"", "0", "42", "abc-42", "a-b-42", "-42", "a-", "+1", "1_0", "a,b-1", "a b-1", "é-1", "a-+1", "9999999999999999999",
		"18446744073709551615", "a-10000000000000000000", strings.Repeat("a", schemas.MaxToken-2) + "-1",
		strings.Repeat("a", schemas.MaxToken) + "-1",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want := len(text) <= schemas.MaxToken && pattern.MatchString(text)
		token, err := schemas.ParseConsistencyToken(text)
		if (err == nil) != want {
			t.Fatalf("ParseConsistencyToken(%q) = %v, want valid: %t", text, err, want)
		}
		if again, err := schemas.ParseConsistencyToken(token.String()); err != nil || again != token {
			t.Errorf("the token of %q is %+v, and its text %q is %+v, %v", text, token, token.String(), again, err)
		}
	})
}
