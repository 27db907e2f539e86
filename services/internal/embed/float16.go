package embed

import (
	"encoding/binary"

	"github.com/x448/float16"
)

// encode converts a vector to little-endian half precision, with a cosine above
// 0.9999999 to the original. It returns false for values outside that range.
func encode(vector []float32) ([]byte, bool) {
	data := make([]byte, 0, 2*len(vector))
	for _, x := range vector {
		half := float16.Fromfloat32(x)
		if !half.IsFinite() {
			return nil, false
		}
		data = binary.LittleEndian.AppendUint16(data, half.Bits())
	}
	return data, true
}

// decode is the inverse of encode. It returns false for data that is not a vector of
// that many dimensions.
func decode(data []byte, dimensions int) ([]float32, bool) {
	if len(data) != 2*dimensions {
		return nil, false
	}
	vector := make([]float32, dimensions)
	for i := range vector {
		half := float16.Frombits(binary.LittleEndian.Uint16(data[2*i:]))
		if !half.IsFinite() {
			return nil, false
		}
		vector[i] = half.Float32()
	}
	return vector, true
}
