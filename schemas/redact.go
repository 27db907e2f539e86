package schemas

import "regexp"

// userinfo matches the userinfo of a URL with a scheme, and user:password@ of one without. Without a
// scheme a name alone is not matched, since a file name may contain an @.
var userinfo = regexp.MustCompile(`(://)(?:([^/?#:@,]*):)?[^/?#]*@|(^|,)([^/?#:@,]+):[^/?#]*@`)

// RedactURLs returns a comma-separated list of URLs with each password replaced by xxxxx, and a user
// without a password, which is a token for NATS, too. Text without a URL, such as a file name, is
// unchanged. A password may contain commas, so users and hosts may be redacted with a password
// before them.
func RedactURLs(list string) string {
	return userinfo.ReplaceAllStringFunc(list, func(match string) string {
		groups := userinfo.FindStringSubmatch(match)
		prefix, user := groups[1]+groups[3], groups[2]+groups[4]
		if user != "" {
			user += ":"
		}
		return prefix + user + "xxxxx@"
	})
}
