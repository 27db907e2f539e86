package estate

import (
	"bytes"
	"slices"
)

// Bounds on the arrays of an estate. Without them an adversarial text, such as a million
// arrays with long keys, would exhaust memory. Arrays beyond them are validated but not
// found.
const (
	maxArrays   = 10_000
	maxKeyBytes = 512
)

// finder is a scanner that records the data arrays outside of records: arrays, maps of
// records, and sequences of objects.
type finder struct {
	scanner
	report func(*array)
	arrays []*array // nil for dropped ones
	kept   int      // number of arrays not dropped
	cut    bool
	key    []byte // key of the object or array being read
}

// document validates the whole text.
func (f *finder) document() error {
	i := f.space(len(f.text) - len(bytes.TrimPrefix(f.text, []byte(byteOrderMark))))
	begin := i
	if f.at(i) == '[' {
		f.key = append(f.key, BareKey...)
	}
	if i = f.find(i, 0, nil); i < 0 {
		return f.err
	}
	switch i = f.space(i); {
	case i == len(f.text):
		return nil
	case f.at(begin) == '{' && f.at(i) == '{':
		return f.sequence(begin)
	}
	f.fail(i, "expected nothing after the value")
	return f.err
}

const byteOrderMark = "\uFEFF"

// sequence reads objects that follow each other, such as NDJSON, as the elements of one array.
func (f *finder) sequence(i int) error {
	f.arrays, f.kept, f.cut = nil, 0, false
	a := newArray(BareKey, f.text, 0)
	begin := i
	for ; i < len(f.text); i = f.space(i) {
		if f.at(i) != '{' {
			f.fail(i, "expected an object, as the values before it")
			return f.err
		}
		a.add(f.text, i)
		if i = f.value(i, 1); i < 0 {
			return f.err
		}
	}
	a.bytes = i - begin
	f.keep(a)
	return nil
}

// keep adds an array.
func (f *finder) keep(a *array) {
	a.count = len(a.records.starts)
	f.arrays = append(f.arrays, a)
	f.kept++
	f.report(a)
}

// find validates the value at i, whose key is f.key. If the value is an object, find adds the
// names of its members to shape, which may be nil.
func (f *finder) find(i, level int, shape *shape) int {
	switch f.at(i) {
	case '[':
		return f.addArray(i, level)
	case '{':
		return f.findMembers(i, level, shape)
	default:
		return f.value(i, level)
	}
}

func (f *finder) addArray(i, level int) int {
	if f.kept == maxArrays || len(f.key) > maxKeyBytes {
		f.cut = true
		return f.value(i, level)
	}
	a := newArray(string(f.key), f.text, level)
	end := f.elements(i, level, func(start int) { a.add(f.text, start) })
	if end < 0 {
		return -1
	}
	a.bytes = end - i
	f.keep(a)
	return end
}

func (f *finder) findMembers(i, level int, outer *shape) int {
	if len(f.key) > maxKeyBytes {
		return f.value(i, level)
	}
	prefix, first, cut := len(f.key), len(f.arrays), f.cut
	seen := map[string][2]int{} // index range in arrays, by member name
	members := candidate{begin: i, possible: level < maxFieldDepth}
	end := f.members(i, level, func(name, start int) int {
		c := f.at(start)
		members.add(f.text, name, start, c)
		if len(seen) == 0 && outer == nil && c != '{' && c != '[' {
			return f.value(start, level+1)
		}
		member := value(f.text[name:skipString(f.text, name)]).content()
		outer.add(member)
		if old, duplicate := seen[string(member)]; duplicate {
			f.remove(old[0], old[1])
			delete(seen, string(member))
		}
		first := len(f.arrays)
		if level > 0 {
			f.key = append(f.key, '.')
		}
		f.key = append(f.key, member...)
		var inner *shape // none: the object is no map
		if members.possible {
			inner = &members.shape
		}
		end := f.find(start, level+1, inner)
		f.key = f.key[:prefix]
		if len(f.arrays) > first {
			seen[string(member)] = [2]int{first, len(f.arrays)}
		}
		return end
	})
	if end >= 0 && members.possible && members.shape.isMap(members.data, len(members.values)) {
		f.cut = cut
		f.addMap(members, end, first, level)
	}
	return end
}

// addMap adds the members of an object as an array in place of the arrays inside its members, whose values the
// records have. Those inside the members of a small map remain, and are listed last.
func (f *finder) addMap(c candidate, end, first, level int) {
	if len(c.values) > maxMapFields {
		f.remove(first, len(f.arrays))
	}
	for _, inner := range f.arrays[first:] {
		if inner != nil {
			inner.inMap = true
		}
	}
	if f.kept == maxArrays {
		f.cut = true
		return
	}
	key := string(f.key)
	if level == 0 {
		key = BareKey
	}
	a := newArray(key, f.text, level)
	a.isMap = true
	for _, start := range lastOfEach(f.text, c.values) {
		if f.at(int(start)) == '{' {
			a.add(f.text, int(start))
		}
	}
	a.bytes = end - c.begin
	f.keep(a)
	f.arrays = slices.Insert(f.arrays[:len(f.arrays)-1], first, a)
}

// lastOfEach returns the offsets of member values without those that a later member of the same
// name replaces.
func lastOfEach(text []byte, values []uint32) []uint32 {
	last := make(map[string]uint32, len(values))
	for _, start := range values {
		last[string(nameBefore(text, int(start)).content())] = start
	}
	if len(last) == len(values) {
		return values
	}
	return slices.DeleteFunc(values, func(start uint32) bool {
		return last[string(nameBefore(text, int(start)).content())] != start
	})
}

// remove removes the arrays of a duplicate member: the last one counts.
func (f *finder) remove(first, end int) {
	for i := first; i < end; i++ {
		if f.arrays[i] != nil {
			f.arrays[i] = nil
			f.kept--
		}
	}
}

// minMapMembers is the number of members from which an object of like objects is a map of
// records whatever their names are. With fewer, a name must not be an identifier.
const minMapMembers = 3

// A candidate is an object outside of records that may be a map of records.
type candidate struct {
	possible bool // no member is other than an object or null
	begin    int
	values   []uint32 // offsets of the values
	data     bool     // a name is not an identifier
	shape    shape
}

// add adds a member whose value begins with first.
func (c *candidate) add(text []byte, name, start int, first byte) {
	if c.possible = c.possible && (first == '{' || first == 'n'); !c.possible {
		return
	}
	c.values = append(c.values, uint32(start))
	c.data = c.data || !isIdentifier(value(text[name:skipString(text, name)]).content())
	if first == '{' {
		c.shape.objects++
	}
}

// shape has the names of the members of several objects.
type shape struct {
	objects int
	members int
	names   map[string]struct{}
}

// add counts a name. s may be nil.
func (s *shape) add(name []byte) {
	if s == nil {
		return
	}
	s.members++
	if _, ok := s.names[string(name)]; ok || len(s.names) == maxFields {
		return
	}
	if s.names == nil {
		s.names = map[string]struct{}{}
	}
	s.names[string(name)] = struct{}{}
}

// isMap reports whether the objects, which are the members of one object or of the objects of one field,
// are records: on average they have more than half of the names that occur. data
// reports whether one of the different member names is not an identifier.
func (s *shape) isMap(data bool, different int) bool {
	return s.objects > 0 && len(s.names) > 0 && len(s.names) < maxFields && (data || different >= minMapMembers) &&
		2*s.members > s.objects*len(s.names)
}

// isIdentifier reports whether a name consists of ASCII letters, digits and underscores and
// does not begin with a digit, as the field names of most programs.
func isIdentifier(name []byte) bool {
	for i, c := range name {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c == '$'
		if !letter && (i == 0 || !isDigit(c)) {
			return false
		}
	}
	return len(name) > 0
}

// nameBefore returns the name of the member whose value is at i, with its quotes; nil if
// the value is not a member.
func nameBefore(text []byte, i int) value {
	const space = " \n\t\r"
	before, isMember := bytes.CutSuffix(bytes.TrimRight(text[:i], space), []byte{':'})
	if !isMember {
		return nil
	}
	end := len(bytes.TrimRight(before, space))
	for i = end - 2; ; i-- {
		if text[i] != '"' {
			continue
		}
		escapes := i
		for text[escapes-1] == '\\' {
			escapes--
		}
		if (i-escapes)%2 == 0 {
			return value(text[i:end])
		}
	}
}
