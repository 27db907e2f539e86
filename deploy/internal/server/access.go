package server

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"strings"

	"github.com/spf13/pflag"

	"cairn/deploy/internal/flags"
	"cairn/edge/access"
)

// accessFlags holds the flags of authentication and limits of the HTTP API.
type accessFlags struct {
	auth     []string
	claims   access.Claims
	limits   access.Limits
	insecure bool
}

func (a *accessFlags) flags(f *pflag.FlagSet) {
	words(f, &a.auth, "auth",
		"authentication `METHODS`: keys, oidc=ISSUER,AUDIENCE, or off; repeatable, space-separated in the environment")
	f.StringVar(&a.claims.Tenant, "oidc-tenant-claim", "tenant",
		"token `CLAIM` that contains the tenant or a list of tenants; * means all tenants")
	f.StringVar(&a.claims.Role, "oidc-role-claim", "role", "token `CLAIM` that contains the role or a list of roles")
	f.Float64Var(&a.limits.Rate, "rate-limit", 0,
		"maximum `RATE` in requests per second of one credential at this edge; requests above it are answered with 429; 0: unlimited")
	streamLimitFlag(f, &a.limits.Streams)
	f.BoolVar(&a.insecure, "insecure", false, "allow non-loopback addresses without authentication")
}

// streamLimitFlag defines --stream-limit, which workers and edges share.
func streamLimitFlag(f *pflag.FlagSet, limit *int) {
	f.IntVar(limit, "stream-limit", 0,
		"maximum `NUMBER` of concurrent analyses of one credential at a worker, and of its open event streams at an edge; further ones are answered with 429; 0: unlimited")
}

// config returns the configuration of the flags. A non-loopback address requires
// authentication or --insecure.
func (a *accessFlags) config(address string) (access.Config, error) {
	c, err := access.Parse(a.auth)
	if err != nil {
		return c, flags.Usage(fmt.Errorf("--auth: %w", err))
	}
	c.Claims, c.Limits = a.claims, a.limits
	if !c.Enabled() && c.Limits != (access.Limits{}) {
		return c, flags.Usage(errors.New("--rate-limit and --stream-limit apply per credential and require --auth"))
	}
	if !(c.Limits.Rate >= 0) || math.IsInf(c.Limits.Rate, 0) || c.Limits.Streams < 0 { // NaN is not below 0 either
		return c, flags.Usage(errors.New("--rate-limit and --stream-limit: expected a number of at least 0"))
	}
	return c, guard("http", address, a.insecure || c.Enabled(), "set --auth keys, or --insecure to allow it")
}

// warn logs insecure settings of a non-loopback address.
func (a *accessFlags) warn(log *slog.Logger, c access.Config, address string, encrypted bool) {
	switch {
	case isLoopback(address):
	case !c.Enabled():
		log.Warn("authentication is disabled on a non-loopback address; enable it with --auth", "http", address)
	case !encrypted:
		log.Warn("credentials are sent unencrypted; set --tls-cert or use a TLS-terminating proxy", "http", address)
	}
}

// guard returns an error for a non-loopback address unless it is allowed. The error
// contains the remedy.
func guard(flag, address string, allowed bool, how string) error {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return flags.Usage(fmt.Errorf("--%s: expected host:port: %w", flag, err))
	}
	if allowed || isLoopback(address) {
		return nil
	}
	return flags.Usage(fmt.Errorf("--%s %s is not a loopback address and has no authentication: %s", flag, address, how))
}

// isLoopback reports whether address is a loopback address.
func isLoopback(address string) bool {
	host, _, _ := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// words defines a repeatable flag whose values may also be separated by spaces, as in its environment variable.
func words(f *pflag.FlagSet, list *[]string, name, usage string) {
	f.Func(name, usage, func(text string) error {
		*list = append(*list, strings.Fields(text)...)
		return nil
	})
}
