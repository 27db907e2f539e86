package estate

import (
	"context"
	"slices"
)

// A Field is one dotted path that records of an array have.
type Field struct {
	Path  string
	Types []string // seen: string, number, boolean, null, array, object, in this order
	Count int      // records in which it is there and not null
}

// Scalar says whether records hold a string, number or boolean there.
func (f Field) Scalar() bool {
	return typeBits(f.Types)&(1<<kindString|1<<kindNumber|1<<kindBoolean) != 0
}

// Fields returns the fields of all records of the array in order of appearance,
// each object before what is in it; the first 400, fewer in an estate of more
// than a hundred arrays, and nothing for an unknown key. The error is that of
// ctx. The caller must not change the result.
func (e *Estate) Fields(ctx context.Context, key string) ([]Field, error) {
	a := e.byKey[key]
	if a == nil {
		return nil, nil
	}
	p, err := e.profile(ctx, a)
	if err != nil {
		return nil, err
	}
	return p.fields, nil
}

func (p *profile) paths() []string {
	paths := make([]string, len(p.fields))
	for i, f := range p.fields {
		paths[i] = f.Path
	}
	return paths
}

// typeSets holds the names for each set of types, made once for all fields.
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
