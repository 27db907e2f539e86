package flags

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// PastTimeUsage describes the values of PastTime.
const PastTimeUsage = "RFC 3339, a date (UTC), or a duration before now such as 24h or 7d"

// PastTime returns the time, in RFC 3339, that the value of a flag names: RFC 3339, a date, or a duration before now.
// It returns an empty text for an empty one.
func PastTime(flag, text string) (string, error) {
	if _, err := time.Parse(time.RFC3339, text); text == "" || err == nil {
		return text, nil
	}
	if date, err := time.Parse(time.DateOnly, text); err == nil {
		return date.Format(time.RFC3339), nil
	}
	ago, err := Duration(text)
	if err != nil || ago < 0 {
		return "", Usage(fmt.Errorf("--%s: expected a time such as 2026-11-24T12:00:00Z or 2026-11-24, or a duration such as "+
			"24h or 7d, got %q", flag, text))
	}
	return time.Now().Add(-ago).UTC().Format(time.RFC3339Nano), nil
}

// Duration parses a duration in days, such as 7d, or in the syntax of Go.
func Duration(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(text)
}
