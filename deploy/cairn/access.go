package main

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"strings"

	"github.com/spf13/pflag"

	"cairn/edge/access"
)

// accessFlags say who is let in over HTTP.
type accessFlags struct {
	auth     words
	claims   access.Claims
	limits   access.Limits
	insecure bool
}

func (a *accessFlags) flags(f *pflag.FlagSet) {
	f.Var(&a.auth, "auth", "`HOW` callers are known: keys, oidc=ISSUER,AUDIENCE, several of these (in the environment with spaces between), or off")
	f.StringVar(&a.claims.Tenant, "oidc-tenant-claim", "tenant", "`CLAIM` of a token that names its tenant, or several; * stands for all")
	f.StringVar(&a.claims.Role, "oidc-role-claim", "role", "`CLAIM` of a token that names its role, or several")
	f.Float64Var(&a.limits.Rate, "rate-limit", 0, "requests a second, `RATE`, that one credential may ask of this edge; one more is answered 429; 0: any number")
	streamLimitFlag(f, &a.limits.Streams)
	f.BoolVar(&a.insecure, "insecure", false, "allow addresses that other machines reach without authentication")
}

// streamLimitFlag defines the flag that workers and edges share.
func streamLimitFlag(f *pflag.FlagSet, limit *int) {
	f.IntVar(limit, "stream-limit", 0, "`NUMBER` of analyses that one credential may have in progress at a worker, and of event streams that it may have open at an edge; one more is answered 429; 0: any number")
}

// config is what the flags say; an address that other machines reach needs
// that callers are asked who they are, or --insecure.
func (a *accessFlags) config(address string) (access.Config, error) {
	c, err := access.Parse(a.auth)
	if err != nil {
		return c, fmt.Errorf("--auth: %w", err)
	}
	c.Claims, c.Limits = a.claims, a.limits
	if !c.On() && c.Limits != (access.Limits{}) {
		return c, errors.New("--rate-limit and --stream-limit bound what a credential may do; they need --auth")
	}
	if !(c.Limits.Rate >= 0) || math.IsInf(c.Limits.Rate, 0) || c.Limits.Streams < 0 { // NaN is not below 0 either
		return c, errors.New("--rate-limit and --stream-limit: want a number of at least 0")
	}
	return c, guard("http", address, a.insecure || c.On(), "--auth keys, or anyway with --insecure")
}

// warn says what is left open.
func (a *accessFlags) warn(log *slog.Logger, c access.Config, address string, encrypted bool) {
	switch {
	case loopback(address):
	case !c.On():
		log.Warn("everybody who reaches this address may do everything; --auth changes that", "http", address)
	case !encrypted:
		log.Warn("credentials come unencrypted; --tls-cert changes that, or what encrypts in front of this edge", "http", address)
	}
}

// guard refuses an address that other machines reach, unless that is allowed,
// and says how it would be.
func guard(flag, address string, allowed bool, how string) error {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return fmt.Errorf("--%s: want host:port: %w", flag, err)
	}
	if allowed || loopback(address) {
		return nil
	}
	return fmt.Errorf("--%s %s can be reached by other machines, and nobody is asked who they are; allow it with %s", flag, address, how)
}

// loopback reports whether only this machine reaches the address.
func loopback(address string) bool {
	host, _, _ := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// words are values of a flag that is given several times, or once with spaces
// between, as its environment twin is.
type words []string

// Set implements pflag.Value.
func (w *words) Set(text string) error {
	*w = append(*w, strings.Fields(text)...)
	return nil
}

// String implements pflag.Value.
func (w *words) String() string { return strings.Join(*w, " ") }

// Type implements pflag.Value.
func (w *words) Type() string { return "words" }
