package static

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/x448/float16"
)

// matrix is a table of numbers that are decoded when they are read, so that it stays
// as small as its file.
type matrix struct {
	rows, columns int
	data          []byte
	// addTo adds a row times weight to sum.
	addTo func(sum []float32, row []byte, weight float32)
	width int // bytes per number
}

func newMatrix(name string, t tensor) (matrix, error) {
	m := matrix{rows: t.shape[0], columns: t.shape[1], data: t.data, width: widths[t.kind]}
	switch t.kind {
	case "I8":
		m.addTo = addInt8
	case "F16":
		m.addTo = addFloat16
	case "F32":
		m.addTo = addFloat32
	default:
		return matrix{}, fmt.Errorf("%s: numbers of type %s, expected F32, F16 or I8", name, t.kind)
	}
	if t.kind == "I8" {
		return m, nil
	}
	row := make([]float32, m.columns)
	for i := range m.rows {
		clear(row)
		m.add(row, i, 1)
		for _, x := range row {
			if !finite(x) {
				return matrix{}, fmt.Errorf("%s: %v in row %d", name, x, i)
			}
		}
	}
	return m, nil
}

// add adds a row times weight to sum.
func (m matrix) add(sum []float32, row int, weight float32) {
	size := m.columns * m.width
	m.addTo(sum, m.data[row*size:(row+1)*size], weight)
}

func addInt8(sum []float32, row []byte, weight float32) {
	row = row[:len(sum)]
	for i := range sum {
		sum[i] += weight * float32(int8(row[i]))
	}
}

func addFloat16(sum []float32, row []byte, weight float32) {
	for i := range sum {
		sum[i] += weight * float16.Frombits(binary.LittleEndian.Uint16(row[2*i:])).Float32()
	}
}

func addFloat32(sum []float32, row []byte, weight float32) {
	for i := range sum {
		sum[i] += weight * math.Float32frombits(binary.LittleEndian.Uint32(row[4*i:]))
	}
}
