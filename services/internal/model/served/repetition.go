package served

import (
	"bytes"

	"cairn/services/internal/model"
)

// ErrRepetition ends a message that does not end by itself.
const ErrRepetition = model.IncompleteError("the model repeats itself")

const (
	repeatedBytes = 600 // length of a repetition; longer than the rule of a wide table
	repeatedUnit  = 120 // longest unit of a repetition, in bytes
	checkInterval = 256 // bytes between checks
)

// repetition detects text whose end is one unit, repeated.
type repetition struct {
	tail      []byte // at most repeatedBytes
	unchecked int    // bytes since the last check
}

// add appends text. It returns [ErrRepetition] if the end of all text is a repetition.
func (r *repetition) add(text string) error {
	r.tail = append(r.tail, text...)
	r.tail = r.tail[max(0, len(r.tail)-repeatedBytes):]
	if r.unchecked += len(text); r.unchecked < checkInterval || len(r.tail) < repeatedBytes {
		return nil
	}
	r.unchecked = 0
	for unit := 1; unit <= repeatedUnit; unit++ {
		if bytes.Equal(r.tail[unit:], r.tail[:repeatedBytes-unit]) {
			return ErrRepetition
		}
	}
	return nil
}
