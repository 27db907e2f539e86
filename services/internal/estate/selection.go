package estate

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// A selection has the rows of the records that match a filter.
type selection struct {
	*reader
	array *array
	join  map[string]lookup // by field
	rows  []uint32
}

// all selects all records.
func (s *selection) all(ctx context.Context) error {
	r, err := s.records(ctx, s.array)
	if err != nil {
		return err
	}
	if err := s.acquire(4 * len(r.starts)); err != nil {
		return err
	}
	s.rows = all(len(r.starts))
	return nil
}

// column returns the column of a field of the records, or of the records that a lookup finds.
func (s *selection) column(ctx context.Context, path string) (*column, error) {
	longest := ""
	for field := range s.join {
		if len(field) > len(longest) && strings.HasPrefix(path, field+".") {
			longest = field
		}
	}
	if longest == "" {
		return s.reader.column(ctx, s.array, path)
	}
	return s.join[longest].column(ctx, s, longest, path[len(longest)+1:])
}

// narrow keeps the rows whose records meet all conditions.
func (s *selection) narrow(ctx context.Context, conditions []*condition) error {
	for _, c := range conditions {
		col, err := s.column(ctx, c.field)
		if err != nil {
			return err
		}
		if s.rows, err = c.narrow(ctx, s, col); err != nil {
			return err
		}
		for _, p := range c.peers {
			right, err := s.column(ctx, p.field)
			if err != nil {
				return err
			}
			if len(right.codes) == 0 {
				s.notes = append(s.notes, fmt.Sprintf("no record has the field %q", p.field))
			}
			if s.rows, err = p.compare(ctx, s.rows, col, right, s.array.count); err != nil {
				return err
			}
		}
	}
	return nil
}

// match keeps the rows whose records meet all conditions, and one of the alternatives if there are any.
func (s *selection) match(ctx context.Context, filter []*condition, alternatives [][]*condition) error {
	if err := s.narrow(ctx, filter); err != nil || len(alternatives) == 0 {
		return err
	}
	if err := s.acquire(4*len(s.rows) + s.array.count); err != nil {
		return err
	}
	meets := make([]bool, s.array.count)
	for _, conditions := range alternatives {
		some := *s
		some.rows = slices.Clone(s.rows)
		if err := some.narrow(ctx, conditions); err != nil {
			return err
		}
		for _, row := range some.rows {
			meets[row] = true
		}
	}
	s.rows = slices.DeleteFunc(s.rows, func(row uint32) bool { return !meets[row] })
	return nil
}
