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
	// findTimeout bounds Find, which runs at startup.
	findTimeout = 200 * time.Millisecond
	// preferredSize is the largest model that most machines run at an acceptable speed, in bytes.
	preferredSize = 10 << 30
)

// Find selects a model on the server at host, in the syntax of OLLAMA_HOST; empty is
// 127.0.0.1:11434. It returns a URL for Open, or false if there is no server or no
// suitable model. It takes at most 200 ms.
//
// A suitable model can chat and call tools, and runs on the server itself: Find never
// selects a model that the server forwards to a cloud. It selects the largest one of up
// to 10 GiB, else the smallest one, and the first by name of equal ones.
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

// address converts OLLAMA_HOST to a URL without a model.
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
	// A wildcard listen address is reached on loopback.
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
		can, err := capabilitiesOf(ctx, client, m.Name)
		if err == nil && can.chat && can.tools && can.remote == "" {
			return m.Name, true
		}
	}
	return "", false
}

// byPreference orders models of up to preferredSize before the others: of the former the largest first, of the latter
// the smallest.
func byPreference(a, b api.ListModelResponse) int {
	bySize := cmp.Compare(b.Size, a.Size)
	if max(a.Size, b.Size) > preferredSize {
		bySize = -bySize
	}
	return cmp.Or(bySize, cmp.Compare(a.Name, b.Name))
}
