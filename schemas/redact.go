package schemas

import (
	"net/url"
	"regexp"
	"strings"
)

// nextURL matches the comma and the scheme of a further URL in a list.
var nextURL = regexp.MustCompile(`,[a-zA-Z][a-zA-Z0-9+.-]*://`)

// RedactURLs returns a comma-separated list of URLs with each password replaced by xxxxx, and a user
// without a password, which is a token for NATS, too. Text without a URL, such as a file name, is
// unchanged. A password may contain any characters, so hosts before an @ may be redacted as well.
func RedactURLs(list string) string {
	var out strings.Builder
	for {
		next := nextURL.FindStringIndex(list)
		if next == nil {
			break
		}
		out.WriteString(redactURL(list[:next[0]]) + ",")
		list = list[next[0]+1:]
	}
	return out.String() + redactURL(list)
}

func redactURL(text string) string {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		scheme, rest = "", text
	}
	authority := rest
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority = rest[:i]
	}
	index := strings.LastIndex(authority, "@")
	if index < 0 { // an unescaped / ? or # in the password, or an @ in the path
		u, err := url.Parse(text)
		if index = strings.LastIndex(rest, "@"); index < 0 || err == nil && (u.Scheme == "http" || u.Scheme == "https") {
			return text
		}
	}
	user, _, password := strings.Cut(rest[:index], ":")
	switch {
	case !ok && !password:
		return text // a file name
	case ok:
		scheme += "://"
	}
	if password && user != "" {
		user += ":"
	} else {
		user = ""
	}
	return scheme + user + "xxxxx" + rest[index:]
}
