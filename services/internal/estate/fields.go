package estate

import "math/bits"

// Bounds on the fields listed of one array: some records have objects for
// maps, with names that are really values.
const (
	maxFields     = 400
	maxFieldDepth = 8
)

// A Field is one dotted path that records of an array have.
type Field struct {
	Path  string
	Types []string // seen: string, number, boolean, null, array, object, in this order
	Count int      // records in which it is there and not null
}

// Scalar says whether records hold a string, number or boolean there.
func (f Field) Scalar() bool {
	for _, t := range f.Types {
		if t == "string" || t == "number" || t == "boolean" {
			return true
		}
	}
	return false
}

// Fields returns the fields of all records of the array in order of appearance,
// each object before what is in it; the first 400, and nothing for an unknown
// key. The caller must not change the result.
func (e *Estate) Fields(key string) []Field {
	a := e.byKey[key]
	if a == nil {
		return nil
	}
	return e.fields(a).fields
}

// fieldList is the fields of an array and how many more it has than listed, at
// least.
type fieldList struct {
	fields []Field
	more   int
}

func (l fieldList) paths() []string {
	paths := make([]string, len(l.fields))
	for i, f := range l.fields {
		paths[i] = f.Path
	}
	return paths
}

// fieldSize is about what a Field takes besides its path, in bytes.
const fieldSize = 160

func (e *Estate) fields(a *array) fieldList {
	return cached(&e.cache, cacheKey{array: a}, func() (fieldList, int) {
		var t fieldTree
		for element := range a.text.elements() {
			if element.kind() == kindObject {
				t.walk(&t.root, element, 0)
				continue
			}
			if node, _ := t.child(&t.root, []byte(ElementField), 0); node != nil {
				node.see(element)
			}
		}
		return t.list()
	})
}

// fieldTree is the names met in the records so far.
type fieldTree struct {
	root fieldNode
	size int
	more int
}

type fieldNode struct {
	name     string
	types    uint8 // a bit for each kind
	count    int
	children []*fieldNode
	byName   map[string]int
}

func (n *fieldNode) see(v value) {
	k := v.kind()
	n.types |= 1 << k
	if k != kindNull {
		n.count++
	}
}

func (t *fieldTree) walk(n *fieldNode, object value, depth int) {
	next := 0
	for name, member := range object.members() {
		child, at := t.child(n, name, next)
		next = at + 1
		if child == nil {
			continue
		}
		child.see(member)
		if member.kind() == kindObject && depth < maxFieldDepth {
			t.walk(child, member, depth+1)
		}
	}
}

// child returns the node of a name and its place. Records mostly have the same
// names in the same order, so the place after the last one is tried first.
func (t *fieldTree) child(n *fieldNode, name []byte, guess int) (*fieldNode, int) {
	if guess < len(n.children) && n.children[guess].name == string(name) {
		return n.children[guess], guess
	}
	if at, ok := n.byName[string(name)]; ok {
		return n.children[at], at
	}
	if t.size == maxFields {
		t.more = 1
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

func (t *fieldTree) list() (fieldList, int) {
	l := fieldList{more: t.more}
	size := 0
	seen := map[string]bool{}
	var add func(n *fieldNode, prefix string)
	add = func(n *fieldNode, prefix string) {
		for _, c := range n.children {
			path := prefix + c.name
			if !seen[path] {
				seen[path] = true
				size += fieldSize + len(path)
				l.fields = append(l.fields, Field{Path: path, Types: typeNames(c.types), Count: c.count})
			}
			add(c, path+".")
		}
	}
	add(&t.root, "")
	return l, size
}

func typeNames(types uint8) []string {
	names := make([]string, 0, bits.OnesCount8(types))
	for k, name := range kindNames {
		if types&(1<<k) != 0 {
			names = append(names, name)
		}
	}
	return names
}
