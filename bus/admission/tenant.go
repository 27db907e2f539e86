package admission

import (
	"context"
	"runtime"
	"sync"
)

type tenantKey struct{}

// WithTenant returns a context of a request that counts against the tenant.
func WithTenant(ctx context.Context, tenant string) context.Context {
	return context.WithValue(ctx, tenantKey{}, tenant)
}

// Tenant returns the tenant of WithTenant; empty: none.
func Tenant(ctx context.Context) string {
	tenant, _ := ctx.Value(tenantKey{}).(string)
	return tenant
}

// Acquire waits for n units of the pool for the tenant of ctx. The caller calls release at least once, also
// after an error, which is that of ctx.
func Acquire(ctx context.Context, p *Pool, n int64) (release func(), err error) {
	tenant := Tenant(ctx)
	if err := p.Wait(ctx, tenant, n); err != nil {
		return func() {}, err
	}
	return sync.OnceFunc(func() { p.Release(tenant, n) }), nil
}

// NewLongPool returns a pool for the parts of requests that use a CPU for milliseconds. It has two units for
// each CPU, so that one tenant can use all CPUs and the part of another tenant starts immediately.
func NewLongPool() *Pool { return NewPool(int64(2 * runtime.GOMAXPROCS(0))) }
