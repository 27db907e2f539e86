package main

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"cairn/bus"
	"cairn/bus/backup"
	"cairn/bus/bucket"
	"cairn/bus/keys"
	"cairn/deploy/internal/connect"
	"cairn/deploy/internal/flags"
	"cairn/deploy/internal/importer"
	"cairn/deploy/internal/output"
	"cairn/deploy/internal/server"
	"cairn/edge/client"
	"cairn/schemas"
)

// Exit codes.
const (
	exitFailed      = 1   // any other error; also differences and warnings
	exitUsage       = 2   // wrong flags, arguments or input
	exitNotFound    = 3   // a record, run or path does not exist
	exitRejected    = 4   // the credential, the state or a limit does not permit the request
	exitUnavailable = 5   // no connection, a timeout or an unavailable dependency
	exitInterrupted = 130 // the convention after SIGINT
)

// exitCode returns the exit code of an error.
func exitCode(err error) int {
	var status *client.StatusError
	var download *connect.DownloadError
	var refused *schemas.Error
	var lost *client.TransportError
	var network net.Error
	switch {
	case errors.Is(err, bus.ErrDrainTimeout):
		return server.ExitDrainTimeout
	case errors.Is(err, server.ErrCatalogReplaced), errors.Is(err, server.ErrStorageRecovered):
		return server.ExitCatalogReplaced
	case errors.Is(err, flags.ErrUsage), isFileError(err), errors.Is(err, exec.ErrNotFound), isEstateError(err):
		return exitUsage
	case errors.Is(err, keys.ErrNotFound):
		return exitNotFound
	case errors.Is(err, backup.ErrNotEmpty):
		return exitRejected
	case errors.As(err, &refused):
		return exitCodeOf(refused.Status)
	case errors.As(err, &status):
		return exitCodeOf(status.StatusCode)
	case errors.As(err, &download):
		return exitCodeOf(download.StatusCode)
	case errors.As(err, &lost), errors.As(err, &network), errors.Is(err, connect.ErrNoNATS),
		errors.Is(err, bucket.ErrNoStream),
		errors.Is(err, context.DeadlineExceeded):
		return exitUnavailable
	}
	return exitFailed
}

// isEstateError reports whether the server cannot read the estate of an analysis, for which the contract
// requires status 500.
func isEstateError(err error) bool {
	var refused *schemas.Error
	return errors.As(err, &refused) && errors.Is(refused, schemas.ErrAnalysisInternal) &&
		strings.HasPrefix(refused.Message(), schemas.ErrAnalysisInternal.Title+": context: ")
}

// isFileError reports whether a file or directory in the arguments does not exist, already exists,
// or is not accessible.
func isFileError(err error) bool {
	var file *fs.PathError
	reasons := []error{fs.ErrNotExist, fs.ErrExist, fs.ErrPermission, syscall.EISDIR, syscall.ENOTDIR}
	return errors.As(err, &file) && slices.ContainsFunc(reasons, func(reason error) bool {
		return errors.Is(file, reason)
	})
}

// message returns the text of an error on one line. Errors of files start with the path instead of
// the system call.
func message(err error) string {
	text := output.OneLine(err)
	if file, ok := errors.AsType[*fs.PathError](err); ok {
		text = strings.Replace(text, file.Error(), file.Path+": "+file.Err.Error(), 1)
	}
	return text + hint(err)
}

// afterCancellation returns the errors that are joined to err after a cancellation, such as a
// failed cleanup. It omits the errors before the cancellation, which describe it.
func afterCancellation(err error) (list []error) {
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return nil
	}
	canceled := false
	for _, e := range joined.Unwrap() {
		switch {
		case errors.Is(e, context.Canceled):
			canceled = true
			list = append(list, afterCancellation(e)...)
		case canceled:
			list = append(list, e)
		}
	}
	return list
}

// exitCodeOf returns the exit code of an HTTP status.
func exitCodeOf(status int) int {
	switch status {
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusRequestEntityTooLarge:
		return exitUsage
	case http.StatusNotFound, http.StatusGone:
		return exitNotFound
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusConflict, http.StatusPreconditionFailed,
		http.StatusMisdirectedRequest, http.StatusUnprocessableEntity, http.StatusTooManyRequests:
		return exitRejected
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return exitUnavailable
	}
	return exitFailed
}

// hint returns what to do about an error.
func hint(err error) string {
	var lost *client.TransportError
	switch {
	case errors.As(err, &lost) && lost.Dial:
		return "; start it with \"cairn up\", or set --url"
	case errors.Is(err, connect.ErrNoNATS):
		return "; set --nats"
	case errors.Is(err, backup.ErrNotEmpty):
		return "; to restore records into a running system, set --merge"
	case errors.Is(err, importer.ErrUnauthenticated):
		return "; set --source-key or --source-key-file"
	case errors.Is(err, schemas.ErrUnauthenticated) || errors.Is(err, schemas.ErrAnalysisUnauthenticated):
		return "; set --key, or select a context with a key: cairn context"
	}
	return ""
}

// synonyms maps commands to other words for which the error suggests them.
var synonyms = map[string][]string{
	"cairn get": {"show", "view", "cat", "skills", "tools"}, "cairn describe": {"inspect", "info"},
	"cairn delete": {"rm", "remove", "unregister"},
	"cairn apply":  {"register", "create", "put", "add", "load"}, "cairn import": {"ingest", "sync"},
	"cairn diff": {"compare"}, "cairn search": {"find", "query"},
	"cairn ask": {"chat", "analyze", "question"}, "cairn compute": {"stats", "count", "aggregate"},
	"cairn runs": {"run", "ps", "jobs"}, "cairn context": {"config", "login", "ctx"},
	"cairn doctor": {"check", "diagnose"}, "cairn status": {"health"}, "cairn up": {"start", "serve", "server"},
	"cairn export":      {"dump"},
	"cairn runs follow": {"get", "logs", "attach", "inspect"}, "cairn runs cancel": {"stop", "kill", "delete"},
	"cairn tags write": {"put", "set", "create"}, "cairn tags get": {"read", "show"}, "cairn tags delete": {"rm"},
	"cairn context select": {"use", "switch"}, "cairn key list": {"ls", "get"}, "cairn key revoke": {"delete", "rm"},
}
