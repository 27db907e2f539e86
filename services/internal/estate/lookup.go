package estate

import (
	"context"
	"fmt"
)

// A lookup finds records of another array by the value of a field.
type lookup struct {
	array *array
	field string
}

// column returns the column of a field of the records that the lookup finds: a hash join. Of several records with
// the same key, the first counts.
func (l lookup) column(ctx context.Context, s *selection, field, path string) (*column, error) {
	id := columnID{s.array, "lookup " + field + "." + path}
	if c := s.columns[id]; c != nil {
		return c, nil
	}
	left, err := s.reader.column(ctx, s.array, field)
	if err != nil {
		return nil, err
	}
	key, err := s.reader.column(ctx, l.array, l.field)
	if err != nil {
		return nil, err
	}
	target, err := s.reader.column(ctx, l.array, path)
	if err != nil {
		return nil, err
	}
	if len(key.codes) == 0 {
		return nil, fmt.Errorf("lookup %q: no record of %q has the field %q; the fields are %s",
			field, l.array.key, l.field, list(l.array.paths()))
	}
	if left.types&(1<<kindArray) != 0 {
		return nil, fmt.Errorf("lookup %q: its values are lists; expected a field of scalars", field)
	}
	if left.types&key.types&^(1<<kindNull) == 0 && len(left.values) > 0 {
		s.notes = append(s.notes, fmt.Sprintf("%q and %q of %q have values of different types: lookup is strict in type",
			field, l.field, l.array.key))
	}
	const rowSize = 64
	size := rowSize*len(key.values) + 4*(len(left.codes)+2*l.array.count) + entrySize*len(target.values)
	if err := s.acquire(size); err != nil {
		return nil, err
	}
	rows := make(map[operand]int, len(key.values))
	for row, code := range key.dense(l.array.count) {
		if code < codeValues {
			continue
		}
		v := key.values[code-codeValues]
		if _, ok := rows[operand{v.kind, v.label()}]; !ok {
			rows[operand{v.kind, v.label()}] = row
		}
	}
	targets := target.dense(l.array.count)
	codeOf := make([]uint32, codeValues+len(left.values))
	for i, v := range left.values {
		if i%checkValues == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if row, ok := rows[operand{v.kind, v.label()}]; ok {
			codeOf[codeValues+i] = targets[row]
		}
	}
	c := target.pick(field+"."+path, left, codeOf)
	s.columns[id] = c
	return c, nil
}
