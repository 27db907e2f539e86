package estate

import (
	"slices"
)

// A Field is a dotted path that occurs in the records of an array.
type Field struct {
	Path  string
	Types []string // a subset of string, number, boolean, null, array, object, in this order
	Count int      // records with a value other than null
}

// typeSets has the type names for each bit set, shared by all fields.
var typeSets = func() (sets [1 << len(kindNames)][]string) {
	for bits := range sets {
		for k, name := range kindNames {
			if bits&(1<<k) != 0 {
				sets[bits] = append(sets[bits], name)
			}
		}
	}
	return sets
}()

func typeNames(bits uint8) []string { return typeSets[bits] }

func typeBits(names []string) (bits uint8) {
	for k, name := range kindNames {
		if slices.Contains(names, name) {
			bits |= 1 << k
		}
	}
	return bits
}
