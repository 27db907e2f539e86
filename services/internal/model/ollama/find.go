package ollama

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ollama/ollama/api"

	"cairn/services/internal/ollamahost"
)

const (
	// findTimeout bounds all of Find: a program's start waits for it.
	findTimeout = 200 * time.Millisecond
	// handySize is what most machines run at a bearable speed, in bytes.
	handySize = 10 << 30
)

// Find looks for a model to use where none is named, on the server at host,
// which is written like OLLAMA_HOST; empty is 127.0.0.1:11434. It answers with
// a URL for Open, and false when there is no server or no suitable model, after
// 200 ms at most.
//
// Suitable is a model that can chat and call tools and that the server runs
// itself: one that it only passes on to a cloud is never chosen unasked. The
// largest of up to 10 GiB is taken, else the smallest of the others, and of
// two equals the first by name.
func Find(ctx context.Context, host string) (rawURL string, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	address, err := address(host)
	if err != nil {
		return "", false
	}
	base, err := ollamahost.Base(address)
	if err != nil {
		return "", false
	}
	transport := ollamahost.NewTransport()
	defer transport.CloseIdleConnections()
	name, ok := choose(ctx, api.NewClient(base, &http.Client{Transport: transport}))
	if !ok {
		return "", false
	}
	return address.Scheme + "://" + base.Host + "/" + name, true
}

// address is the URL, without a model, of what OLLAMA_HOST says.
func address(host string) (*url.URL, error) {
	host = strings.TrimSpace(host)
	scheme, rest, ok := strings.Cut(host, "://")
	if !ok {
		scheme, rest = "", host
	}
	rest, _, _ = strings.Cut(rest, "/")
	u, err := url.Parse("ollama://" + rest)
	if err != nil {
		return nil, err
	}
	// A server that listens everywhere is asked here.
	if ip := net.ParseIP(u.Hostname()); ip != nil && ip.IsUnspecified() {
		u.Host = net.JoinHostPort(ollamahost.Host, cmp.Or(u.Port(), ollamahost.Port))
	}
	switch scheme {
	case "http":
		u.Host = net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "80"))
	case "https":
		u.Scheme = "ollama+https"
	}
	return u, nil
}

func choose(ctx context.Context, client *api.Client) (name string, ok bool) {
	list, err := client.List(ctx)
	if err != nil {
		return "", false
	}
	slices.SortFunc(list.Models, byPreference)
	for _, m := range list.Models {
		can, err := abilitiesOf(ctx, client, m.Name)
		if err == nil && can.chat && can.tools && can.remote == "" {
			return m.Name, true
		}
	}
	return "", false
}

func byPreference(a, b api.ListModelResponse) int {
	handyA, handyB := a.Size <= handySize, b.Size <= handySize
	switch {
	case handyA && handyB:
		return cmp.Or(cmp.Compare(b.Size, a.Size), cmp.Compare(a.Name, b.Name))
	case handyA:
		return -1
	case handyB:
		return 1
	default:
		return cmp.Or(cmp.Compare(a.Size, b.Size), cmp.Compare(a.Name, b.Name))
	}
}
