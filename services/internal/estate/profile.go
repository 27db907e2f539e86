package estate

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Bounds on the fields of one array: some records use objects as maps, whose names are
// data.
const (
	maxFields      = 400
	minFields      = 10     // per array in an estate of many arrays
	maxTotalFields = 50_000 // approximate total of all arrays
	maxFieldDepth  = 8
)

// A profile lists the fields of an array.
type profile struct {
	fields []Field
	more   bool // not all fields are listed
}

func (p *profile) paths() []string {
	paths := make([]string, len(p.fields))
	for i, f := range p.fields {
		paths[i] = f.Path
	}
	return paths
}

func (p *profile) bounded() []string {
	paths := p.paths()
	n, size := 0, 0
	for n < len(paths) && n < maxSchemaFields && size+len(paths[n]) <= maxSchemaBytes {
		size += len(paths[n])
		n++
	}
	if omitted := p.omitted(n); omitted != "" {
		return append(paths[:n], omitted)
	}
	return paths
}

// omitted describes the fields besides the first n; it is empty if there are none.
func (p *profile) omitted(n int) string {
	switch more := max(0, len(p.fields)-n); {
	case p.more:
		return fmt.Sprintf("… more than %d more fields", more)
	case more > 0:
		return fmt.Sprintf("… %d more fields", more)
	default:
		return ""
	}
}

func (p *profile) line(n int) string {
	paths := p.paths()
	paths = paths[:min(n, len(paths))]
	if omitted := p.omitted(n); omitted != "" {
		paths = append(paths, omitted)
	}
	return strings.Join(paths, ", ")
}

// parallelBytes is the minimum size of a text that several cores read concurrently, in bytes.
const parallelBytes = 256 << 10

// Read is Parse followed by reading the fields, which takes about as long. With several
// cores it does both concurrently. The error may be ctx.Err().
func Read(ctx context.Context, text []byte) (*Estate, error) {
	if len(text) < parallelBytes {
		return Parse(text)
	}
	found := make(chan *array, maxTotalFields/maxFields)
	read := func() {
		for a := range found {
			a.tree = readFields(ctx, a, maxFields)
		}
	}
	var reading sync.WaitGroup
	for range runtime.GOMAXPROCS(0) - 1 {
		reading.Go(read)
	}
	e, err := parse(text, func(a *array) {
		select {
		case found <- a:
		default: // read later
		}
	})
	close(found)
	if err == nil {
		read()
	}
	for range found { // parse failed: drop the queue
	}
	reading.Wait()
	if err == nil {
		_, err = e.profiled.Get(ctx)
	}
	if err != nil {
		return nil, err
	}
	return e, nil
}

// buildProfiles builds the missing profiles.
func buildProfiles(ctx context.Context, e *Estate) error {
	bySize := slices.SortedStableFunc(slices.Values(e.arrays), func(a, b *array) int {
		return cmp.Compare(len(b.text), len(a.text))
	})
	workers := 1
	if len(e.text) >= parallelBytes {
		workers = min(runtime.GOMAXPROCS(0), len(bySize))
	}
	var next atomic.Int64
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(bySize) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if a := bySize[i]; a.profile == nil {
					a.profile = profileOf(ctx, e, a)
				}
			}
		})
	}
	wait.Wait()
	return ctx.Err()
}

// profileOf returns the profile of a; nil if ctx is done.
func profileOf(ctx context.Context, e *Estate, a *array) *profile {
	t := a.tree
	if bound := fieldBound(e); t == nil || t.bound != bound {
		t = readFields(ctx, a, bound)
	}
	a.tree = nil
	if t == nil {
		return nil
	}
	return listFields(ctx, e, t)
}

// readFields reads the fields of a. Duplicate names are rare: only if an object has some,
// it reads the fields again and resolves the duplicates. It returns nil if ctx is done.
func readFields(ctx context.Context, a *array, bound int) *fieldTree {
	t := newFieldTree(ctx, a, bound, false)
	if !t.readAll() && t.err == nil {
		t = newFieldTree(ctx, a, bound, true)
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
	return fieldSize * min(fieldBound(e), len(a.text)/minFieldLength)
}

// columnShare returns the memory budget for columns of an estate of n bytes. Only
// adversarial estates exceed it.
func columnShare(n int) int { return n + n/2 + 64<<10 }

// listFields builds the profile of the tree's array and keeps the offsets of unambiguous paths.
// It returns nil if ctx is done.
func listFields(ctx context.Context, e *Estate, t *fieldTree) *profile {
	a := t.array
	l := lister{
		profile: &profile{more: t.more}, records: len(a.starts),
		at: map[string]int{}, offsets: map[string]*offsets{}, duplicate: map[string]bool{},
	}
	l.list(&t.root, "")
	for _, path := range l.ambiguous[:min(len(l.ambiguous), maxAmbiguous)] {
		p, err := a.scan(ctx, path)
		if err != nil {
			return nil
		}
		l.fields[l.at[path]] = Field{Path: path, Types: typeNames(p.types), Count: p.count()}
		l.offsets[path] = p
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.offsets = map[string]*offsets{}
	for _, f := range l.fields {
		p := l.offsets[f.Path]
		if p == nil || a.columns[f.Path] != nil {
			continue
		}
		p.at, p.rows = clip(p.at), clip(p.rows)
		if e.reserve(p.size()) {
			a.offsets[f.Path] = p
		}
	}
	return l.profile
}

// maxAmbiguous bounds the ambiguous paths, where a name contains a dot, that are resolved
// per record. For other paths the fields of all interpretations are merged.
const maxAmbiguous = 20

type lister struct {
	*profile
	records   int
	at        map[string]int // index in fields by path
	offsets   map[string]*offsets
	ambiguous []string
	duplicate map[string]bool // set of ambiguous
}

func (l *lister) list(n *fieldNode, prefix string) {
	for _, child := range n.children {
		path := prefix + child.name
		p := child.offsets // a copy, which does not keep the tree alive
		at, duplicate := l.at[path]
		switch {
		case len(path) > maxPathBytes:
			l.more = true
			continue
		case duplicate:
			f := &l.fields[at]
			f.Types, f.Count = typeNames(p.types|typeBits(f.Types)), min(l.records, f.Count+p.count())
			delete(l.offsets, path)
			if !l.duplicate[path] {
				l.duplicate[path] = true
				l.ambiguous = append(l.ambiguous, path)
			}
		default:
			l.at[path] = len(l.fields)
			l.fields = append(l.fields, Field{Path: path, Types: typeNames(p.types), Count: p.count()})
			l.offsets[path] = &p
		}
		l.list(child, path+".")
	}
}
