package estate

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// allDepths is the segment of a key that stands for the elements of a recursive field at all depths.
const allDepths = "**"

// maxRecursion bounds the depth of a recursive array: each level reads the levels below it again.
// Deeper recursive arrays are not offered.
const maxRecursion = 32

// deriver finds the arrays inside the records of an array.
type deriver struct {
	e      *Estate
	arrays []*array
	nodes  map[*array]*fieldNode // of the fields
	bound  int                   // of arrays
}

// derive returns the arrays inside the records of a, without building them, in document order.
func (d *deriver) derive(a *array, n *fieldNode, prefix string) {
	for _, child := range n.children {
		field := prefix + child.name
		if a.isRecursion(field) {
			continue
		}
		if e := child.elements; e != nil && e.total+e.scalars > 0 {
			d.add(&array{count: e.total + e.scalars, objects: e.total, unlisted: e.total == 0, derived: &derivation{
				parent: a, field: field, ambiguous: a.profile.ambiguous[field]}}, e)
		}
		e := mapElements(child)
		if e != nil {
			d.add(&array{count: e.total, objects: e.total, isMap: true, derived: &derivation{
				parent: a, field: field, ambiguous: a.profile.ambiguous[field]}}, e)
		}
		if e == nil || len(child.children) <= maxMapFields { // the records of a large map have its arrays
			d.derive(a, child, field+".")
		}
	}
}

func joinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// add adds an array and those inside its records.
func (d *deriver) add(a *array, n *fieldNode) {
	switch {
	case a.key != "":
	case a.derived.recursive:
		a.key = a.derived.parent.key + "." + allDepths
	default:
		a.key = a.derived.parent.key + "." + a.derived.field
	}
	if len(a.key) > maxKeyBytes || len(d.arrays) >= d.bound || d.e.byKey[a.key] != nil {
		d.e.cut = d.e.cut || len(d.arrays) >= d.bound
		return
	}
	a.level = a.derived.parent.level + 1
	a.derived.values = n.values()
	a.profile = newLister(a.count, n).profile
	d.e.byKey[a.key] = a
	d.arrays = append(d.arrays, a)
	d.nodes[a] = n
	d.derive(a, n, "")
	d.addRecursive(a, n, "")
}

// addRecursive adds the records of a together with the elements of a field of like shape, at all depths.
func (d *deriver) addRecursive(a *array, n *fieldNode, prefix string) {
	if a.isInexact() {
		return
	}
	for _, child := range n.children {
		field := prefix + child.name
		again := a.derived != nil && a.derived.field == field // the array is such a field itself
		if e := child.elements; e != nil && e.total > 0 && !again && like(n, e) {
			d.add(&array{count: a.count + e.total, objects: a.objects + e.total,
				derived: &derivation{parent: a, field: field, recursive: true}}, merge(&fieldNode{}, n, e))
		}
		d.addRecursive(a, child, field+".")
	}
}

// addUnions adds, for the arrays N inside the elements of another array, the array N of the object that has
// both, as the resources of Terraform's root module and child modules.
func (d *deriver) addUnions() {
	for _, b := range slices.Clone(d.arrays) {
		c, name := b.derived.parent, b.derived.field
		if c.derived != nil || b.derived.recursive || b.isMap {
			continue
		}
		outer := c.key[:max(0, strings.LastIndexByte(c.key, '.'))]
		a := d.e.byKey[joinPath(outer, name)]
		if a == nil || a.derived != nil || a == c || !like(d.nodes[a], d.nodes[b]) {
			continue
		}
		if deep := d.e.byKey[joinPath(joinPath(c.key, allDepths), name)]; deep != nil {
			b = deep
		}
		union := &array{key: joinPath(joinPath(outer, allDepths), name), count: a.count + b.count}
		union.objects = a.objects + b.objects
		union.derived = &derivation{parent: b.derived.parent, field: name, siblings: a}
		d.add(union, merge(&fieldNode{}, d.nodes[a], d.nodes[b]))
	}
}

// like reports whether the objects of two nodes have at least half of their names in common.
func like(n, m *fieldNode) bool {
	common := 0
	for _, child := range n.children {
		if _, ok := m.byName[child.name]; ok {
			common++
		}
	}
	return common > 0 && 2*common >= max(len(n.children), len(m.children))
}

// mapElements returns the members of the objects of a node as elements; nil if the objects are not maps
// of records.
func mapElements(n *fieldNode) *fieldNode {
	const objectOrNull = 1<<kindObject | 1<<kindNull
	if n.types&(1<<kindObject) == 0 || n.elements != nil || len(n.children) == 0 {
		return nil
	}
	children := n.children
	if n.rest != nil {
		children = append(slices.Clip(children), n.rest)
	}
	var s shape
	data := false
	for _, child := range children {
		if child.types&^objectOrNull != 0 {
			return nil
		}
		s.objects += child.total
		data = data || child != n.rest && !isIdentifier([]byte(child.name))
		for _, field := range child.children {
			s.members += field.total + field.nulls
			s.add([]byte(field.name))
			s.members--
		}
	}
	if !s.isMap(data, len(children)) {
		return nil
	}
	e := merge(&fieldNode{}, children...)
	e.elements = nil
	e.total = s.objects
	return e
}

// merge adds the counts of nodes to n, without offsets.
func merge(n *fieldNode, nodes ...*fieldNode) *fieldNode {
	for _, m := range nodes {
		n.types |= m.types
		n.total += m.total
		n.nulls += m.nulls
		n.scalars += m.scalars
		for _, child := range m.children {
			index, ok := n.byName[child.name]
			if !ok {
				if n.byName == nil {
					n.byName = map[string]int{}
				}
				index = len(n.children)
				n.byName[child.name] = index
				n.children = append(n.children, &fieldNode{name: child.name})
			}
			merge(n.children[index], child)
		}
		if m.elements != nil {
			if n.elements == nil {
				n.elements = &fieldNode{}
			}
			merge(n.elements, m.elements)
		}
	}
	return n
}

var errTooDeep = errors.New("the records are nested too deeply")

// builder collects the records of a derived array.
type builder struct {
	ctx   context.Context
	array *array
	*records
}

func (b *builder) add(start uint32, chain []uint32) {
	b.starts = append(b.starts, start)
	for level := range b.ancestors {
		ancestor := uint32(noRecord)
		if level < len(chain) {
			ancestor = chain[level]
		}
		b.ancestors[level] = append(b.ancestors[level], ancestor)
	}
}

// elements adds the elements of the array, or the members of the map, at an offset.
func (b *builder) elements(start uint32, chain []uint32) error {
	v := b.text[start:]
	offset := func(element value) uint32 { return uint32(cap(b.text) - cap(element)) }
	switch {
	case b.array.isMap && v.kind() == kindObject:
		for _, member := range v.lastMembers(b.ctx) {
			if member.kind() == kindObject {
				b.add(offset(member), chain)
			}
		}
	case !b.array.isMap && v.kind() == kindArray:
		for element := range v.elements() {
			b.add(offset(element), chain)
			if len(b.starts)%checkValues == 0 && b.ctx.Err() != nil {
				break
			}
		}
	}
	return b.ctx.Err()
}

// descend adds the record at an offset and, recursively, the elements of its field.
func (b *builder) descend(start uint32, chain []uint32, depth int) error {
	if depth > maxRecursion {
		return errTooDeep
	}
	if b.text[start:].kind() == kindObject {
		b.add(start, chain)
	}
	v, ok := b.text[start:].field(b.array.derived.field, b.unique)
	if !ok || v.kind() != kindArray {
		return b.ctx.Err()
	}
	chain = append([]uint32{start}, chain[:min(len(chain), ancestorLevels-1)]...)
	for element := range v.elements() {
		if err := b.descend(uint32(cap(b.text)-cap(element)), chain, depth+1); err != nil {
			return err
		}
	}
	return b.ctx.Err()
}
