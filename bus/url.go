package bus

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

var schemes = []string{"nats", "tls", "ws", "wss"}

// checkURLs validates a list of server URLs. The error does not contain a URL that cannot
// be parsed: it may include a password.
func checkURLs(list string) error {
	for i, address := range strings.Split(list, ",") {
		address = strings.TrimSpace(address)
		if !strings.Contains(address, "://") {
			address = "nats://" + address
		}
		u, err := url.Parse(address)
		if err != nil || u.Host == "" {
			return fmt.Errorf("NATS URL %d: expected nats://host:4222, with user:password@ before the host if the server requires it", i+1)
		}
		if !slices.Contains(schemes, u.Scheme) {
			return fmt.Errorf("NATS URL %s: expected one of the schemes %s", u.Redacted(), strings.Join(schemes, ", "))
		}
		if port, err := strconv.Atoi(u.Port()); u.Port() != "" && (err != nil || port < 1 || port > 65535) {
			return fmt.Errorf("NATS URL %s: expected a port from 1 to 65535", u.Redacted())
		}
	}
	return nil
}
