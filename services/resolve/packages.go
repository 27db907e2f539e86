package resolve

import (
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"cairn/services/internal/scope"
	"cairn/services/internal/usage"
)

// maxPackageBytes bounds the total size of cached packages, in bytes.
const maxPackageBytes = 32 << 20

// packageKey is the key of a cached package.
type packageKey struct {
	scope   scope.Scope
	skill   string
	explain bool
}

// encodedPackage is a skill package and the uses of the records in it.
type encodedPackage struct {
	body jsontext.Value
	uses usage.Uses
}

// packages caches encoded skill packages until the catalog changes.
type packages struct {
	mu      sync.Mutex
	size    int
	entries map[packageKey]encodedPackage
	resets  uint64 // number of calls of reset
}

func (p *packages) get(key packageKey) (encodedPackage, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	entry, ok := p.entries[key]
	return entry, ok
}

// resetCount returns the number of resets.
func (p *packages) resetCount() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.resets
}

// put caches a package whose records were read after the number of resets, unless there was another one. When
// the cache is full, it removes all others.
func (p *packages) put(key packageKey, entry encodedPackage, resets uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.resets != resets {
		return
	}
	if p.size += len(entry.body); p.entries == nil || p.size > maxPackageBytes {
		p.entries, p.size = map[packageKey]encodedPackage{}, len(entry.body)
	}
	p.entries[key] = entry
}

// reset empties the cache. The caller holds the resolver's mu for writing.
func (p *packages) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.entries, p.size = nil, 0
	p.resets++
}
