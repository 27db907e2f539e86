package estate

import (
	"slices"
)

// offsets are the offsets of one field's values in the records of an array. Its column can
// be read from them without searching the records again.
type offsets struct {
	types  uint8 // bit set of kinds
	nulls  int
	starts []uint32 // offsets in the estate's text
	rows   []uint32 // the records of the values; nil: the first ones
}

// count returns the number of records with a value other than null.
func (p *offsets) count() int { return len(p.starts) - p.nulls }

func (p *offsets) size() int { return columnSize + 4*(cap(p.starts)+cap(p.rows)) }

// add records that row has v, a slice of text whose capacity extends to the end of the text.
func (p *offsets) add(text value, row int, v value) {
	k := v.kind()
	p.types |= 1 << k
	if k == kindNull {
		p.nulls++
	}
	p.addAt(row, uint32(cap(text)-cap(v)))
}

// addAt records that row has the value at an offset.
func (p *offsets) addAt(row int, start uint32) {
	if p.rows == nil && row > len(p.starts) { // the first gap
		p.rows = all(len(p.starts))
	}
	if p.rows != nil {
		p.rows = append(p.rows, uint32(row))
	}
	p.starts = append(p.starts, start)
}

// all returns the numbers from 0 to n-1.
func all(n int) []uint32 {
	rows := make([]uint32, n)
	for i := range rows {
		rows[i] = uint32(i)
	}
	return rows
}

// Numbers of rows and values between checks of a loop's context. A value may be as large
// as the estate.
const (
	checkRows   = 1 << 14
	checkValues = 64
)

// clip returns list without its spare capacity if that is more than an eighth.
func clip[T any](list []T) []T {
	if cap(list)-len(list) > len(list)/8 {
		return slices.Clip(slices.Clone(list))
	}
	return list
}
