package connect

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// IsURL reports whether an argument is a URL rather than a path.
func IsURL(source string) bool {
	return strings.HasPrefix(source, "http://") || strings.HasPrefix(source, "https://")
}

// Download returns at most limit bytes of the document at a URL, or a DownloadError. Errors do not
// contain the URL, which may have a password.
func Download(ctx context.Context, c *http.Client, from, accept string, limit int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", accept)
	res, err := c.Do(req)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return nil, failed.Err
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, &DownloadError{StatusCode: res.StatusCode, Status: res.Status}
	}
	return io.ReadAll(io.LimitReader(res.Body, limit))
}

// DownloadError is an unsuccessful response of a server other than Cairn.
type DownloadError struct {
	StatusCode int
	Status     string // such as "502 Bad Gateway"
}

// Error implements error.
func (e *DownloadError) Error() string { return "responded with " + e.Status + "; expected 200" }
