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

// Document is a document of a server other than Cairn.
type Document struct {
	URL    string
	Accept string // media types
	Limit  int64  // maximum number of bytes to read
}

// Download returns the beginning of the document, or a DownloadError. Errors do not contain the URL, which
// may have a password.
func (d Document) Download(ctx context.Context, c *http.Client) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.URL, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", d.Accept)
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
	return io.ReadAll(io.LimitReader(res.Body, d.Limit))
}

// DownloadError is an unsuccessful response of a server other than Cairn.
type DownloadError struct {
	StatusCode int
	Status     string // such as "502 Bad Gateway"
}

// Error implements error.
func (e *DownloadError) Error() string { return "responded with " + e.Status + "; expected 200" }
