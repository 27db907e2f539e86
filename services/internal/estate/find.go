package estate

// Bounds on the arrays of an estate. Without them an adversarial text, such as a million
// arrays with long keys, would exhaust memory. Arrays beyond them are validated but not
// found.
const (
	maxArrays   = 10_000
	maxKeyBytes = 512
)

// finder is a scanner that records the data arrays.
type finder struct {
	scanner
	found  func(*array)
	arrays []*array // nil for dropped ones
	kept   int      // number of arrays not dropped
	cut    bool
	key    []byte // key of the object or array being read
}

func (f *finder) top(i int) int {
	if f.at(i) == '[' {
		f.key = append(f.key, BareKey...)
	}
	return f.find(i, 0)
}

// find validates the value at i, whose key is f.key.
func (f *finder) find(i, level int) int {
	switch f.at(i) {
	case '[':
		return f.addArray(i, level)
	case '{':
		return f.findMembers(i, level)
	default:
		return f.value(i, level)
	}
}

func (f *finder) addArray(i, level int) int {
	if f.kept == maxArrays || len(f.key) > maxKeyBytes {
		f.cut = true
		return f.array(i, level)
	}
	a := &array{key: string(f.key), level: level, columns: map[string]*column{}}
	end := f.elements(i, level, func(at int) {
		a.starts = append(a.starts, uint32(at-i))
		if f.at(at) == '{' {
			a.objects++
		}
	})
	if end < 0 {
		return -1
	}
	a.text = f.text[i:end:end]
	f.arrays = append(f.arrays, a)
	f.kept++
	f.found(a)
	return end
}

func (f *finder) findMembers(i, level int) int {
	if len(f.key) > maxKeyBytes {
		return f.object(i, level)
	}
	prefix := len(f.key)
	seen := map[string][2]int{} // index range in arrays, by member name
	return f.members(i, level, func(name, at int) int {
		if c := f.at(at); len(seen) == 0 && c != '{' && c != '[' {
			return f.value(at, level+1)
		}
		member := value(f.text[name:skipString(f.text, name)]).content()
		if old, duplicate := seen[string(member)]; duplicate {
			f.remove(old[0], old[1])
			delete(seen, string(member))
		}
		first := len(f.arrays)
		if level > 0 {
			f.key = append(f.key, '.')
		}
		f.key = append(f.key, member...)
		end := f.find(at, level+1)
		f.key = f.key[:prefix]
		if len(f.arrays) > first {
			seen[string(member)] = [2]int{first, len(f.arrays)}
		}
		return end
	})
}

// remove removes the arrays of a duplicate member: the last one counts.
func (f *finder) remove(from, to int) {
	for i := from; i < to; i++ {
		if f.arrays[i] != nil {
			f.arrays[i] = nil
			f.kept--
		}
	}
}
