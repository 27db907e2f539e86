package estate

import (
	"cmp"
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
// there are more cores, while the text is being checked.
func Read(text []byte) (*Estate, error) {
	if len(text) < parallelBytes {
		return Parse(text)
	}
	found := make(chan *array, maxTotalFields/maxFields)
	read := func() {
		for a := range found {
			a.tree = readFields(a, maxFields)
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
		e.profiled.Do(e.makeProfiles)
	}
	return e, err
}

// profile returns the profile of an array. The first call makes those of all
// arrays, since who asks for one goes on to compare them.
func (e *Estate) profile(a *array) *profile {
	e.profiled.Do(e.makeProfiles)
	return a.profile
}

func (e *Estate) makeProfiles() {
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
			for i := int(next.Add(1)) - 1; i < len(bySize); i = int(next.Add(1)) - 1 {
				bySize[i].profile = e.profileOf(bySize[i])
			}
		})
	}
	wait.Wait()
}

func (e *Estate) profileOf(a *array) *profile {
	t := a.tree
	if bound := e.fieldBound(); t == nil || t.bound != bound {
		t = readFields(a, bound)
	}
	a.tree = nil
	return e.list(t)
}

// readFields reads the fields of a. Objects in which a name comes twice are
// rare: they are looked for on the way and read again with care.
func readFields(a *array, bound int) *fieldTree {
	t := newFieldTree(a, bound, false)
	if !t.readAll() {
		t = newFieldTree(a, bound, true)
		t.readAll()
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
// values that can be told from the path alone.
func (e *Estate) list(t *fieldTree) *profile {
	a := t.array
	l := lister{profile: &profile{more: t.more}, records: len(a.starts), at: map[string]int{}, places: map[string]*places{}}
	l.list(&t.root, "")
	for _, path := range l.ambiguous[:min(len(l.ambiguous), maxAmbiguous)] {
		p := a.scan(path)
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
			if !slices.Contains(l.ambiguous, path) {
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
