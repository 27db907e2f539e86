package estate_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"cairn/services/internal/estate"
)

// label returns the group label of a number.
func label(t *testing.T, number string) string {
	t.Helper()
	s, err := parse(t, `[`+number+`]`).Stats(t.Context(),
		estate.Query{DataKey: estate.BareKey, GroupBy: estate.GroupBy{estate.ElementField}})
	if err != nil || len(s.Groups) != 1 {
		t.Fatalf("%s: groups %v, error %v", number, s.Groups, err)
	}
	return s.Groups[0].Key
}

func TestNumberLabels(t *testing.T) {
	t.Parallel()
	for number, want := range map[string]string{
		"0": "0", "-0": "0", "0.0": "0", "-0e5": "0",
		"85": "85", "-85.0": "-85", "85.50": "85.5", "0.6": "0.6", "0.06e1": "0.6", "1E2": "100", "1e+2": "100",
		"1e20": "100000000000000000000", "1e21": "1e21", "10e20": "1e21", "123e-8": "0.00000123", "1e-7": "1e-7",
		"-2.50e-9":                          "-2.5e-9",
		"9007199254740993":                  "9007199254740993",
		"9007199254740993.0":                "9007199254740993",
		"123456789012345678901":             "123456789012345678901",
		"1234567890123456789012":            "1.234567890123456789012e21",
		"0.1000000000000000055511151231258": "0.1",
		"-3.14159265358979323846264338":     "-3.141592653589793",
		"1e400":                             "1e400",
		"1E99999999999":                     "1e99999999999",
		"0.00000000000000000000001e23":      "1",
	} {
		if got := label(t, number); got != want {
			t.Errorf("%s is %s, want %s", number, got, want)
		}
	}
}

// TestRandomNumberLabels formats random numbers of up to 17 digits in several ways. All
// must have one label, which is the number.
func TestRandomNumberLabels(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		digits := fmt.Sprint(1 + random.Int64N(pow10(1+random.IntN(17))-1))
		exponent := random.IntN(60) - 30
		sign := []string{"", "-"}[random.IntN(2)]
		number := fmt.Sprintf("%s%se%d", sign, digits, exponent)
		got := label(t, number)
		for _, same := range []string{
			fmt.Sprintf("%s%s.000E%+d", sign, digits, exponent),
			fmt.Sprintf("%s%s00e%d", sign, digits, exponent-2),
			fmt.Sprintf("%s0.00%se%d", sign, digits, exponent+len(digits)+2),
			got,
		} {
			if again := label(t, same); again != got {
				t.Errorf("%s is %s, but %s is %s", number, got, same, again)
			}
		}
		if rat(t, number).Cmp(rat(t, got)) != 0 || strings.HasSuffix(got, ".") {
			t.Errorf("%s is not %s", got, number)
		}
	}
}

func pow10(n int) int64 {
	p := int64(1)
	for range n {
		p *= 10
	}
	return p
}

func rat(t *testing.T, number string) *big.Rat {
	t.Helper()
	r, ok := new(big.Rat).SetString(number)
	if !ok {
		t.Fatalf("%s is not a number", number)
	}
	return r
}
