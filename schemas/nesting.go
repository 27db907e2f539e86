package schemas

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// maxNesting is the maximum nesting of objects and arrays in a request. It is far
// below the 10,000 levels of the JSON package, because responses and the requests
// of workers nest records and tags more deeply.
const maxNesting = 1000

var errNesting = fmt.Errorf("nested more than %d levels deep", maxNesting)

// NestedDeeper reports whether the JSON text nests objects and arrays deeper than the maximum number
// of levels. The result for other texts is undefined.
func NestedDeeper(text []byte, maximum int) bool {
	if bytes.Count(text, []byte{'{'})+bytes.Count(text, []byte{'['}) <= maximum {
		return false
	}
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			if depth++; depth > maximum {
				return true
			}
		case '}', ']':
			depth--
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		}
	}
	return false
}

// locateNesting returns errNesting with its position, or the syntax error before it.
func locateNesting(body []byte) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(body))
	for d.StackDepth() <= maxNesting {
		if _, err := d.ReadToken(); err != nil {
			return err
		}
	}
	return &jsontext.SyntacticError{ByteOffset: d.InputOffset() - 1, JSONPointer: d.StackPointer(), Err: errNesting}
}
