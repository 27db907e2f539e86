package static

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/x448/float16"
)

const (
	// maxHeader bounds the header of a file. The header of a table has a few hundred bytes.
	maxHeader = 1 << 20
	// maxDimension bounds each dimension, so that products do not overflow.
	maxDimension = 1 << 30
)

// widths are the sizes in bytes of the supported types.
var widths = map[string]int{"I8": 1, "F16": 2, "F32": 4, "I32": 4, "F64": 8, "I64": 8}

// safetensors are the tensors of a file by name, see
// https://github.com/huggingface/safetensors#format.
type safetensors map[string]tensor

// tensor is an array of numbers, not decoded.
type tensor struct {
	kind  string
	shape []int
	data  []byte
}

func readSafetensors(data []byte) (safetensors, error) {
	if len(data) < 8 {
		return nil, errors.New("no header")
	}
	size, data := binary.LittleEndian.Uint64(data), data[8:]
	if size > maxHeader || size > uint64(len(data)) {
		return nil, fmt.Errorf("a header of %d bytes in a file of %d", size, len(data)+8)
	}
	var header map[string]jsontext.Value
	if err := json.Unmarshal(data[:size], &header); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	all := safetensors{}
	for name, entry := range header {
		if name == "__metadata__" {
			continue
		}
		t, err := newTensor(entry, data[size:])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all[name] = t
	}
	return all, nil
}

func newTensor(entry jsontext.Value, data []byte) (tensor, error) {
	var e struct {
		Kind    string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets [2]int `json:"data_offsets"`
	}
	if err := json.Unmarshal(entry, &e); err != nil {
		return tensor{}, err
	}
	begin, end := e.Offsets[0], e.Offsets[1]
	if begin < 0 || end < begin || end > len(data) {
		return tensor{}, fmt.Errorf("offsets %d to %d of %d bytes", begin, end, len(data))
	}
	count := 1
	for _, n := range e.Shape {
		if n < 1 || n > maxDimension || count > maxDimension {
			return tensor{}, fmt.Errorf("shape %d", e.Shape)
		}
		count *= n
	}
	if width, ok := widths[e.Kind]; ok && (end-begin)/width != count || ok && (end-begin)%width != 0 {
		return tensor{}, fmt.Errorf("tensor data is %d bytes, which does not match shape %d of %s", end-begin, e.Shape,
			e.Kind)
	}
	return tensor{e.Kind, e.Shape, data[begin:end]}, nil
}

// matrix returns a two-dimensional tensor.
func (s safetensors) matrix(name string) (matrix, error) {
	t, ok := s[name]
	switch {
	case !ok:
		return matrix{}, fmt.Errorf("%s: missing", name)
	case len(t.shape) != 2:
		return matrix{}, fmt.Errorf("%s: %d dimensions, expected 2", name, len(t.shape))
	}
	return newMatrix(name, t)
}

// floats returns a one-dimensional tensor, nil when it is missing.
func (s safetensors) floats(name string) ([]float32, error) {
	t, ok := s[name]
	if !ok {
		return nil, nil
	}
	if len(t.shape) != 1 {
		return nil, fmt.Errorf("%s: %d dimensions, expected 1", name, len(t.shape))
	}
	all := make([]float32, t.shape[0])
	for i := range all {
		switch t.kind {
		case "F16":
			all[i] = float16.Frombits(binary.LittleEndian.Uint16(t.data[2*i:])).Float32()
		case "F32":
			all[i] = math.Float32frombits(binary.LittleEndian.Uint32(t.data[4*i:]))
		case "F64":
			all[i] = float32(math.Float64frombits(binary.LittleEndian.Uint64(t.data[8*i:])))
		default:
			return nil, fmt.Errorf("%s: numbers of type %s, expected F16, F32 or F64", name, t.kind)
		}
		if !finite(all[i]) {
			return nil, fmt.Errorf("%s: %v at %d", name, all[i], i)
		}
	}
	return all, nil
}

// integers returns a one-dimensional tensor, nil when it is missing.
func (s safetensors) integers(name string) ([]int64, error) {
	t, ok := s[name]
	if !ok {
		return nil, nil
	}
	if len(t.shape) != 1 {
		return nil, fmt.Errorf("%s: %d dimensions, expected 1", name, len(t.shape))
	}
	all := make([]int64, t.shape[0])
	for i := range all {
		switch t.kind {
		case "I32":
			all[i] = int64(int32(binary.LittleEndian.Uint32(t.data[4*i:])))
		case "I64":
			all[i] = int64(binary.LittleEndian.Uint64(t.data[8*i:]))
		default:
			return nil, fmt.Errorf("%s: numbers of type %s, expected I32 or I64", name, t.kind)
		}
	}
	return all, nil
}

func finite(x float32) bool { return x-x == 0 }
