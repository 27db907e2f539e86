package estate

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Bounds on the fields listed of one array: some records have objects for
// maps, with names that are really values.
const (
	maxFields      = 400
	minFields      = 10     // of an array among very many
	maxTotalFields = 50_000 // of all arrays together, about
	maxFieldDepth  = 8
)

// A profile is what one reading of an array tells about its fields.
type profile struct {
	fields []Field
	more   bool // there are more fields than listed
}

// parallelBytes is the size of text from which on more than one core reads it.
const parallelBytes = 256 << 10

// Read is Parse that also reads the fields, which takes as long again: where
// there are more cores, while the text is being checked. The error may be that
// of ctx.
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
	for range found { // Of no use now.
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

// profile returns the profile of an array. The first call makes those of all
// arrays, since a caller that needs one goes on to compare them.
func (e *Estate) profile(ctx context.Context, a *array) (*profile, error) {
	_, err := e.profiled.Get(ctx)
	return a.profile, err
}

// makeProfiles makes the profiles that are missing.
func (e *Estate) makeProfiles(ctx context.Context) (none struct{}, err error) {
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
					a.profile = e.profileOf(ctx, a)
				}
			}
		})
	}
	wait.Wait()
	return none, ctx.Err()
}

// profileOf is the profile of a; nil when ctx ends.
func (e *Estate) profileOf(ctx context.Context, a *array) *profile {
	t := a.tree
	if bound := e.fieldBound(); t == nil || t.bound != bound {
		t = readFields(ctx, a, bound)
	}
	a.tree = nil
	if t == nil {
		return nil
	}
	return e.list(ctx, t)
}

// readFields reads the fields of a. Objects in which a name comes twice are
// rare: they are looked for on the way and read again with care. The result is
// nil when ctx ends.
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

func (e *Estate) fieldBound() int {
	return min(maxFields, max(minFields, maxTotalFields/max(1, len(e.arrays))))
}

// fieldSize is what is kept of a field besides its column, in bytes.
const fieldSize = 400

// fieldsSize is what the fields of a may come to hold, in bytes.
func (e *Estate) fieldsSize(a *array) int {
	const leastField = len(`"":0,`)
	return fieldSize * min(e.fieldBound(), len(a.text)/leastField)
}

// columnShare is how many bytes the columns of an estate of n bytes may keep:
// enough for any but those made to need more.
func columnShare(n int) int { return n + n/2 + 64<<10 }

// list makes the profile of the tree's array, and keeps the places of the
// values that can be told from the path alone; nil when ctx ends.
func (e *Estate) list(ctx context.Context, t *fieldTree) *profile {
	a := t.array
	l := lister{
		profile: &profile{more: t.more}, records: len(a.starts),
		at: map[string]int{}, places: map[string]*places{}, twice: map[string]bool{},
	}
	l.list(&t.root, "")
	for _, path := range l.ambiguous[:min(len(l.ambiguous), maxAmbiguous)] {
		p, err := a.scan(ctx, path)
		if err != nil {
			return nil
		}
		l.fields[l.at[path]] = Field{Path: path, Types: typeNames(p.types), Count: p.count()}
		l.places[path] = p
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.places = map[string]*places{}
	for _, f := range l.fields {
		p := l.places[f.Path]
		if p == nil || a.columns[f.Path] != nil {
			continue
		}
		p.at, p.rows = clip(p.at), clip(p.rows)
		if e.reserve(p.size()) {
			a.places[f.Path] = p
		}
	}
	return l.profile
}

// maxAmbiguous is for how many paths that are names, too, each record is asked
// what it means by them. Of further ones the field is that of all meanings.
const maxAmbiguous = 20

type lister struct {
	*profile
	records   int
	at        map[string]int // where in fields a path is
	places    map[string]*places
	ambiguous []string
	twice     map[string]bool // those in ambiguous
}

func (l *lister) list(n *fieldNode, prefix string) {
	for _, child := range n.children {
		path := prefix + child.name
		p := child.places // a copy, which holds on to no tree
		at, twice := l.at[path]
		switch {
		case len(path) > maxPathBytes:
			l.more = true
			continue
		case twice:
			f := &l.fields[at]
			f.Types, f.Count = typeNames(p.types|typeBits(f.Types)), min(l.records, f.Count+p.count())
			delete(l.places, path)
			if !l.twice[path] {
				l.twice[path] = true
				l.ambiguous = append(l.ambiguous, path)
			}
		default:
			l.at[path] = len(l.fields)
			l.fields = append(l.fields, Field{Path: path, Types: typeNames(p.types), Count: p.count()})
			l.places[path] = &p
		}
		l.list(child, path+".")
	}
}
