package estate

import (
	"bytes"
	"context"
)

// fieldTree is the tree of names in the records of an array. Fields of the records have the
// offsets of their values; fields of nested records are counted only. It is read in one pass
// over the text.
type fieldTree struct {
	ctx       context.Context
	err       error // of ctx
	read      int   // number of members and elements read
	array     *array
	records   *records
	text      value
	root      fieldNode
	bound     int // the largest number of nodes
	size      int
	cut       bool // names were dropped
	careful   bool // objects may have duplicate names, the last one counts
	duplicate bool // an object has duplicate names
	row       int  // of the record
	objects   int  // number of objects read
}

// A fieldNode is a name in the objects of one kind, or the elements of such a field.
type fieldNode struct {
	name     string
	escaped  bool   // in JSON
	object   int    // the last object with the name
	last     uint32 // the offset of the last value
	children []*fieldNode
	byName   map[string]int
	elements *fieldNode // of the values that are arrays
	scalars  int        // number of elements that are not objects or arrays
	pairRow  int        // 1 + the last record whose key/value list has the key
	// Of elements: the members that make them a key/value list, as of the first checked children.
	key, value *fieldNode
	checked    int
	total      int        // number of values that are not null
	rest       *fieldNode // of the members after the first maxNames

	offsets
}

// maxNames bounds the different names that are fields in an object which is a field itself:
// objects with more are maps. The other members are counted in one node.
const maxNames = 100

// ended counts a member, and reports whether ctx is done.
func (t *fieldTree) ended() bool {
	if t.read++; t.read%checkValues == 0 {
		t.err = t.ctx.Err()
	}
	return t.err != nil
}

// readAll reads the records. It stops and returns false when ctx is done, or when the
// tree does not check for duplicate names and an object has one.
func (t *fieldTree) readAll() bool {
	for row, start := range t.records.starts {
		t.row = row
		if t.ended() {
			return false
		}
		if t.text[start] == '{' {
			if t.walk(&t.root, int(start), 0, false) < 0 {
				return false
			}
			continue
		}
		if n, _ := t.child(&t.root, []byte(ElementField), 0); n != nil && t.value(n, int(start), 0, false) < 0 {
			return false
		}
	}
	return true
}

// walk reads the object at i as an object of the node and returns the offset after it, or -1 if
// the tree cannot be read further. In nested records no offsets are kept.
func (t *fieldTree) walk(n *fieldNode, i, depth int, nested bool) int {
	t.objects++
	object, guess := t.objects, 0
	var last map[string]value
	if t.careful {
		last = t.text[i:].last(t.ctx)
	}
	for i = skipSpace(t.text, i+1); t.text[i] != '}'; {
		if t.ended() {
			return -1
		}
		child, end := t.guess(n, i, guess)
		if child == nil {
			var name []byte
			name, end = t.name(i)
			child, guess = t.child(n, name, depth)
		}
		guess++
		i = skipSpace(t.text, 1+skipSpace(t.text, end))
		switch {
		case child == nil, t.careful && cap(last[child.name]) != cap(t.text)-i && child != n.rest:
			i = skip(t.text, i) // there are too many names, or a later member has the name
		case child.object == object && child != n.rest:
			t.duplicate = true
			return -1
		default:
			child.object = object
			i = t.value(child, i, depth, nested || child == n.rest)
		}
		if i < 0 {
			return -1
		}
		if i = skipSpace(t.text, i); t.text[i] == ',' {
			i = skipSpace(t.text, i+1)
		}
	}
	return i + 1
}

// guess returns the child at an index if its name is at i, and the offset after the name; nil if another name is
// there. Records mostly have the same names in the same order.
func (t *fieldTree) guess(n *fieldNode, i, index int) (child *fieldNode, end int) {
	if index >= len(n.children) || n.children[index].escaped {
		return nil, 0
	}
	child = n.children[index]
	quote := i + 1 + len(child.name)
	if quote >= len(t.text) || t.text[quote] != '"' || string(t.text[i+1:quote]) != child.name {
		return nil, 0
	}
	return child, quote + 1
}

// name returns the unescaped name at i and the offset after it.
func (t *fieldTree) name(i int) (name []byte, end int) {
	if end = closing(t.text, i+1); t.text[end] == '"' {
		return t.text[i+1 : end], end + 1
	}
	end = skipString(t.text, i)
	return t.text[i:end].content(), end
}

// value reads the value at i of a node.
func (t *fieldTree) value(n *fieldNode, i, depth int, nested bool) int {
	k := t.count(n, i, nested)
	switch {
	case depth >= maxFieldDepth, depth == 0 && t.array.isRecursion(n.name):
	case k == kindObject:
		return t.walk(n, i, depth+1, nested)
	case k == kindArray:
		return t.walkElements(n, i, depth+1, nested)
	}
	return skip(t.text, i)
}

// count counts the value at i of a node, and keeps its offset unless it is nested.
func (t *fieldTree) count(n *fieldNode, i int, nested bool) kind {
	k := t.text[i:].kind()
	n.types |= 1 << k
	n.last = uint32(i)
	if k == kindNull {
		n.nulls++
	} else {
		n.total++
	}
	if !nested {
		n.addAt(t.row, uint32(i))
	}
	return k
}

// walkElements reads the elements of the array at i.
func (t *fieldTree) walkElements(n *fieldNode, i, depth int, nested bool) int {
	if n.elements == nil {
		n.elements = &fieldNode{}
	}
	e := n.elements
	for i = skipSpace(t.text, i+1); t.text[i] != ']'; {
		if t.ended() {
			return -1
		}
		switch k := t.text[i:].kind(); k {
		case kindObject:
			e.total++
			e.types |= 1 << k
			begin := i
			if i = t.walk(e, i, depth, true); i >= 0 {
				i = t.pair(n, begin, i, depth, nested)
			}
		case kindArray:
			e.total++
			e.types |= 1 << k
			if child, _ := t.child(e, []byte(ElementField), depth); child != nil {
				i = t.value(child, i, depth, true)
			} else {
				i = skip(t.text, i)
			}
		default:
			e.scalars++
			i = skip(t.text, i)
		}
		if i < 0 {
			return -1
		}
		if i = skipSpace(t.text, i); t.text[i] == ',' {
			i = skipSpace(t.text, i+1)
		}
	}
	return i + 1
}

// pair adds the value of an element of a key/value list, which is between begin and end, as a field
// with the name of its key. It returns end.
func (t *fieldTree) pair(n *fieldNode, begin, end, depth int, nested bool) int {
	e := n.elements
	if e.checked != len(e.children) {
		e.checked = len(e.children)
		e.key, e.value = e.pairNodes()
	}
	if e.key == nil || e.key.last < uint32(begin) || e.value.last < uint32(begin) || t.text[e.key.last] != '"' {
		return end // the element lacks one of them
	}
	name := t.text[e.key.last:skipString(t.text, int(e.key.last))].content()
	if len(name) > 0 && isDigit(name[0]) {
		return end // positions take precedence
	}
	child, _ := t.child(n, name, max(depth, 1))
	switch {
	case child == nil || child == n.rest:
	case child.pairRow == t.row+1 && !nested: // the last of equal keys counts
		child.types |= 1 << t.text[e.value.last:].kind()
		child.starts[len(child.starts)-1] = e.value.last
	default:
		child.pairRow = t.row + 1
		t.count(child, int(e.value.last), nested)
	}
	return end
}

// pairNodes returns the members of the elements that are key and value; nil if the elements are no pairs.
func (n *fieldNode) pairNodes() (key, value *fieldNode) {
	for _, names := range pairNames {
		k, isKey := n.byName[names[0]]
		v, isValue := n.byName[names[1]]
		if isKey && isValue {
			return n.children[k], n.children[v]
		}
	}
	return nil, nil
}

// child returns the node of a name and its index. It is nil if there are too many.
func (t *fieldTree) child(n *fieldNode, name []byte, depth int) (*fieldNode, int) {
	if i, ok := n.byName[string(name)]; ok {
		return n.children[i], i
	}
	if depth > 0 && len(n.children) >= maxNames {
		t.cut = true
		if n.rest == nil {
			n.rest = &fieldNode{}
		}
		return n.rest, len(n.children)
	}
	if t.size == t.bound {
		t.cut = true
		return nil, len(n.children)
	}
	t.size++
	if n.byName == nil {
		n.byName = map[string]int{}
	}
	n.byName[string(name)] = len(n.children)
	n.children = append(n.children, &fieldNode{name: string(name), escaped: bytes.ContainsAny(name, `"\\`)})
	return n.children[len(n.children)-1], len(n.children) - 1
}

// values returns the number of values of the fields, without those of nested records.
func (n *fieldNode) values() (count int) {
	for _, child := range n.children {
		count += child.total + child.nulls + child.values()
	}
	return count
}
