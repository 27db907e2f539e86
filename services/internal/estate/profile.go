package estate

import (
	"context"
	"fmt"
	"runtime"
	"sync"
)

// Bounds on the fields of one array: some records use objects as maps, whose names are
// data.
const (
	maxFields      = 1000
	minFields      = 10     // per array in an estate of many arrays
	maxTotalFields = 50_000 // approximate total of all arrays
	maxFieldDepth  = maxPathDepth
)

// A profile lists the fields of an array.
type profile struct {
	fields    []Field
	cut       bool            // not all fields are listed
	ambiguous map[string]bool // paths as which several names are read
}

// omitted describes fields that are not listed besides more others; it is empty if there are none.
func (p *profile) omitted(rest int) string {
	switch {
	case p.cut && rest == 0:
		return "… more fields"
	case p.cut:
		return fmt.Sprintf("… more than %d more fields", rest)
	case rest > 0:
		return fmt.Sprintf("… %d more fields", rest)
	default:
		return ""
	}
}

// parallelBytes is the minimum size of a text that several cores read concurrently, in bytes.
const parallelBytes = 256 << 10

// Read validates text as JSON, or as a sequence of JSON objects, finds its data arrays and reads their
// fields. As in encoding/json, invalid UTF-8 in strings becomes U+FFFD. The estate keeps text,
// which must not change. With several cores it validates and reads concurrently. The error is a
// *SyntaxError or ctx.Err().
func Read(ctx context.Context, text []byte) (*Estate, error) {
	e, err := parseConcurrently(ctx, text)
	if err != nil {
		return nil, err
	}
	if err := e.readFields(ctx); err != nil {
		return nil, err
	}
	return e, e.deriveArrays(ctx)
}

// parseConcurrently parses a large text and reads fields of its arrays at the same time.
func parseConcurrently(ctx context.Context, text []byte) (*Estate, error) {
	if len(text) < parallelBytes {
		return parse(text, func(*array) {})
	}
	queue := make(chan *array, maxTotalFields/maxFields)
	read := func() {
		for a := range queue {
			a.tree = readFields(ctx, a, a.records, maxFields)
		}
	}
	var reading sync.WaitGroup
	for range runtime.GOMAXPROCS(0) - 1 {
		reading.Go(read)
	}
	e, err := parse(text, func(a *array) {
		select {
		case queue <- a:
		default: // read later
		}
	})
	close(queue)
	if err == nil {
		read()
	}
	for range queue { // parse failed: drop the queue
	}
	reading.Wait()
	return e, err
}

// maxInexact bounds the arrays that are read to count their records.
const maxInexact = 20

// readFields reads the fields of a. Duplicate names are rare: only if an object has some,
// it reads the fields again and resolves the duplicates. It returns nil if ctx is done.
func readFields(ctx context.Context, a *array, r *records, bound int) *fieldTree {
	t := &fieldTree{ctx: ctx, array: a, records: r, text: r.text, bound: bound}
	if !t.readAll() && t.duplicate {
		t = &fieldTree{ctx: ctx, array: a, records: r, text: r.text, bound: bound, careful: true}
		t.readAll()
	}
	if ctx.Err() != nil {
		return nil
	}
	return t
}

func fieldBound(e *Estate) int {
	return min(maxFields, max(minFields, maxTotalFields/max(1, len(e.arrays))))
}

// fieldSize is the size of a field besides its column, in bytes.
const fieldSize = 400

// fieldsSize returns an upper bound of the size of the fields of a, in bytes.
func fieldsSize(e *Estate, a *array) int {
	const minFieldLength = len(`"":0,`)
	if a.derived != nil {
		return fieldSize * len(a.profile.fields)
	}
	return fieldSize * min(fieldBound(e), a.bytes/minFieldLength)
}

// columnShare returns the memory budget for columns of an estate of n bytes. Only
// adversarial estates exceed it.
func columnShare(n int) int { return n + n/2 + 64<<10 }

// maxAmbiguous bounds the ambiguous paths, where a name contains a dot, that are resolved
// per record. For other paths the fields of all interpretations are merged.
const maxAmbiguous = 20

// maxMapFields bounds the members of a map of records that are listed as fields.
const maxMapFields = 8

type lister struct {
	*profile
	records   int
	indexes   map[string]int // index in fields by path
	offsets   map[string]*offsets
	duplicate []string // the ambiguous paths
}

// newLister lists the fields of a number of records.
func newLister(records int, root *fieldNode) *lister {
	l := &lister{profile: &profile{}, records: records, indexes: map[string]int{}, offsets: map[string]*offsets{}}
	l.list(root, "")
	return l
}

func (l *lister) list(n *fieldNode, prefix string) {
	if len(n.children) > maxMapFields && prefix != "" && mapElements(n) != nil {
		return
	}
	for _, child := range n.children {
		path := prefix + child.name
		p := child.offsets // a copy, which does not keep the tree alive
		i, duplicate := l.indexes[path]
		switch count := min(child.total, l.records); {
		case len(path) > maxPathBytes:
			l.cut = true
			continue
		case duplicate:
			f := &l.fields[i]
			f.Types, f.Count = typeNames(p.types|typeBits(f.Types)), min(l.records, f.Count+count)
			delete(l.offsets, path)
			if !l.ambiguous[path] {
				if l.ambiguous == nil {
					l.ambiguous = map[string]bool{}
				}
				l.ambiguous[path] = true
				l.duplicate = append(l.duplicate, path)
			}
		default:
			l.indexes[path] = len(l.fields)
			l.fields = append(l.fields, Field{Path: path, Types: typeNames(p.types), Count: count})
			l.offsets[path] = &p
		}
		l.list(child, path+".")
	}
}
