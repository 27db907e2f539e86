package estate

import "context"

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
	more      bool // names were dropped
	careful   bool // objects may have duplicate names, the last one counts
	duplicate bool // an object has duplicate names
	row       int  // of the record
	objects   int  // number of objects read
}

// A fieldNode is a name in the objects of one kind, or the elements of such a field.
type fieldNode struct {
	name     string
	object   int    // the last object with the name
	last     uint32 // the offset of the last value
	children []*fieldNode
	byName   map[string]int
	elements *fieldNode // of the values that are arrays
	scalars  int        // number of elements that are not objects or arrays
	pairs    int        // number of elements that are key and value
	pairRow  int        // 1 + the last record whose key/value list has the key
	total    int        // number of values that are not null
	rest     *fieldNode // of the members after the first maxNames

	offsets
}

// maxNames bounds the different names that are fields in an object which is a field itself:
// objects with more are maps. The other members are counted in one node.
const maxNames = 100

func newFieldTree(ctx context.Context, a *array, r *records, bound int, careful bool) *fieldTree {
	return &fieldTree{ctx: ctx, array: a, records: r, text: r.text, bound: bound, careful: careful}
}

// ended counts a member, and reports whether ctx is done.
func (t *fieldTree) ended() bool {
	if t.read++; t.read%checkValues == 0 {
		t.err = yield(t.ctx, t.read)
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
		if n, _ := t.child(&t.root, []byte(ElementField), 0, 0); n != nil && t.value(n, int(start), 0, false) < 0 {
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
		end := closing(t.text, i+1)
		name := []byte(t.text[i+1 : end])
		if t.text[end] != '"' {
			end = skipString(t.text, i) - 1
			name = t.text[i : end+1].content()
		}
		i = skipSpace(t.text, 1+skipSpace(t.text, end+1))
		if t.careful && cap(last[string(name)]) != cap(t.text)-i {
			i = skip(t.text, i) // a later member has the name
		} else if i = t.member(n, name, i, depth, &guess, object, nested); i < 0 {
			return -1
		}
		if i = skipSpace(t.text, i); t.text[i] == ',' {
			i = skipSpace(t.text, i+1)
		}
	}
	return i + 1
}

// member reads a member, whose value is at i.
func (t *fieldTree) member(n *fieldNode, name []byte, i, depth int, guess *int, object int, nested bool) int {
	child, at := t.child(n, name, *guess, depth)
	*guess = at + 1
	switch {
	case child == nil:
		return skip(t.text, i)
	case child != n.rest && child.object == object:
		t.duplicate = true
		return -1
	}
	child.object = object
	return t.value(child, i, depth, nested || child == n.rest)
}

// value reads the value at i of a node.
func (t *fieldTree) value(n *fieldNode, i, depth int, nested bool) int {
	k := t.count(n, i, nested)
	switch {
	case depth >= maxFieldDepth:
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
			if child, _ := t.child(e, []byte(ElementField), 0, depth); child != nil {
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
	for _, names := range pairNames {
		key, isKey := e.byName[names[0]]
		val, isValue := e.byName[names[1]]
		if !isKey || !isValue {
			continue
		}
		k, v := e.children[key], e.children[val]
		if k.last < uint32(begin) || v.last < uint32(begin) || t.text[k.last] != '"' {
			continue // the element lacks one of them
		}
		e.pairs++
		name := t.text[k.last:skipString(t.text, int(k.last))].content()
		child, _ := t.child(n, name, 0, max(depth, 1))
		if child == nil || child == n.rest {
			return end
		}
		if child.pairRow == t.row+1 && !nested { // the last of equal keys counts
			child.types |= 1 << t.text[v.last:].kind()
			child.at[len(child.at)-1] = v.last
			return end
		}
		child.pairRow = t.row + 1
		t.count(child, int(v.last), nested)
		return end
	}
	return end
}

// child returns the node of a name and its index. Records mostly have the same names in
// the same order, so the index after the previous one is tried first.
func (t *fieldTree) child(n *fieldNode, name []byte, guess, depth int) (*fieldNode, int) {
	if guess < len(n.children) && n.children[guess].name == string(name) {
		return n.children[guess], guess
	}
	if at, ok := n.byName[string(name)]; ok {
		return n.children[at], at
	}
	if depth > 0 && len(n.children) >= maxNames {
		t.more = true
		if n.rest == nil {
			n.rest = &fieldNode{}
		}
		return n.rest, guess
	}
	if t.size == t.bound {
		t.more = true
		return nil, guess
	}
	t.size++
	if n.byName == nil {
		n.byName = map[string]int{}
	}
	n.byName[string(name)] = len(n.children)
	n.children = append(n.children, &fieldNode{name: string(name)})
	return n.children[len(n.children)-1], len(n.children) - 1
}
