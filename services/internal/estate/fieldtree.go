package estate

import "context"

// fieldTree is the tree of names in the records of an array, with the offsets of their
// values.
type fieldTree struct {
	ctx     context.Context
	err     error // of ctx
	read    int   // number of members read
	array   *array
	root    fieldNode
	bound   int // the largest number of nodes
	size    int
	more    bool // names were dropped
	careful bool // objects may have duplicate names, the last one counts
	record  int
}

type fieldNode struct {
	name     string
	record   int // the last record with the name
	children []*fieldNode
	byName   map[string]int

	offsets
}

func newFieldTree(ctx context.Context, a *array, bound int, careful bool) *fieldTree {
	return &fieldTree{ctx: ctx, array: a, bound: bound, careful: careful}
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
	for element := range t.array.records() {
		t.record++
		if t.ended() {
			return false
		}
		if element.kind() == kindObject {
			if !t.walk(&t.root, element, 0) {
				return false
			}
			continue
		}
		if n, _ := t.child(&t.root, []byte(ElementField), 0); n != nil {
			n.add(t.array, t.record-1, element)
		}
	}
	return true
}

func (t *fieldTree) walk(n *fieldNode, object value, depth int) bool {
	next := 0
	var last map[string]value
	if t.careful {
		last = object.last(t.ctx)
	}
	for name, member := range object.members() {
		if t.ended() {
			return false
		}
		if t.careful {
			var ok bool
			if member, ok = last[string(name)]; !ok {
				continue
			}
			delete(last, string(name))
		}
		child, at := t.child(n, name, next)
		next = at + 1
		if child == nil {
			continue
		}
		if child.record == t.record {
			return false
		}
		child.record = t.record
		child.add(t.array, t.record-1, member)
		if member.kind() == kindObject && depth < maxFieldDepth && !t.walk(child, member, depth+1) {
			return false
		}
	}
	return true
}

// child returns the node of a name and its index. Records mostly have the same names in
// the same order, so the index after the previous one is tried first.
func (t *fieldTree) child(n *fieldNode, name []byte, guess int) (*fieldNode, int) {
	if guess < len(n.children) && n.children[guess].name == string(name) {
		return n.children[guess], guess
	}
	if at, ok := n.byName[string(name)]; ok {
		return n.children[at], at
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
