package resolve

import "testing"

// TestOutdatedPackagesAreNotCached resolves a package before the catalog changes and encodes it afterwards.
func TestOutdatedPackagesAreNotCached(t *testing.T) {
	t.Parallel()
	var p packages
	key := packageKey{skill: "a"}
	before := p.resetCount()
	p.reset()
	p.put(key, encodedPackage{}, before)
	if _, ok := p.get(key); ok {
		t.Error("the package of an earlier state is cached")
	}
	p.put(key, encodedPackage{}, p.resetCount())
	if _, ok := p.get(key); !ok {
		t.Error("the package of the current state is not cached")
	}
}
