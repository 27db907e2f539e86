package served_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"cairn/services/internal/model"
	"cairn/services/internal/model/served"
)

func TestRepetition(t *testing.T) {
	t.Parallel()
	var numbers, table strings.Builder
	for n := range 2000 {
		fmt.Fprintf(&numbers, "%d ", n+1)
		fmt.Fprintf(&table, "| web-%d | healthy | eu-west-1 |\n", n)
	}
	for _, row := range []struct {
		name, text string
		repeats    bool
	}{
		{"one character", "The value is " + strings.Repeat("1", 1000), true},
		{"white space", `{"calls":` + strings.Repeat(" ", 1000), true},
		{"leading white space", strings.Repeat("\n", 1000), true},
		{"a word", "There are " + strings.Repeat("very ", 200), true},
		{"a sentence of 120 bytes", strings.Repeat(strings.Repeat("a", 118)+". ", 20), true},
		{"characters of several bytes", strings.Repeat("日本 ", 200), true},
		{"a paragraph of 121 bytes", strings.Repeat(strings.Repeat("a", 119)+". ", 20), false},
		{"a count to 2000", numbers.String(), false},
		{"a table", table.String(), false},
		{"the rule of a table", "| " + strings.Repeat("-", 590) + " |\n" + table.String(), false},
		{"a repetition that has ended", strings.Repeat("ha ", 190) + numbers.String(), false},
	} {
		for _, size := range []int{1, 7, 100} {
			t.Run(fmt.Sprintf("%s in pieces of %d bytes", row.name, size), func(t *testing.T) {
				t.Parallel()
				err := write(row.text, size)
				if got := errors.Is(err, served.ErrRepetition); got != row.repeats {
					t.Errorf("error %v, want a repetition: %v", err, row.repeats)
				}
			})
		}
	}
}

// write returns the error of a message of text in pieces.
func write(text string, size int) (failure error) {
	message := served.Message("test:", func(w *served.Writer) (model.Usage, error) {
		for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
			if err := w.Text(rest[:min(size, len(rest))]); err != nil {
				return model.Usage{}, err
			}
		}
		return model.Usage{}, nil
	})
	for _, err := range message {
		failure = err
	}
	return failure
}
