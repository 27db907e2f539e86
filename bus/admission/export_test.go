package admission

import "maps"

// Held returns the number of held units, in total and by tenant.
func (p *Pool) Held() (total int64, tenants map[string]int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held, maps.Clone(p.tenants)
}
