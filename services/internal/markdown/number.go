package markdown

import (
	"math"
	"strconv"
	"strings"
)

// Number returns v without exponent, with at most three decimals, or three significant digits
// if it is small.
func Number(v float64) string {
	decimals := 3
	if size := math.Abs(v); size > 0 && size < 0.1 {
		decimals = 2 - int(math.Floor(math.Log10(size)))
	}
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(v, 'f', decimals, 64), "0"), ".")
}
