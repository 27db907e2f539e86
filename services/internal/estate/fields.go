package estate

import (
	"context"
	"slices"
)

// A Field is a dotted path that occurs in the records of an array.
type Field struct {
	Path  string
	Types []string // a subset of string, number, boolean, null, array, object, in this order
	Count int      // records with a value other than null
}

// Scalar reports whether a record has a string, number or boolean in the field.
func (f Field) Scalar() bool {
	return typeBits(f.Types)&(1<<kindString|1<<kindNumber|1<<kindBoolean) != 0
}

// Fields returns the fields of the records of the array in order of appearance, an object
// before its members. It returns up to 400, fewer in an estate of more than 125 arrays,
// and none for an unknown key. The error is ctx.Err(). The caller must not modify the
// result.
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
