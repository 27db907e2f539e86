package edge

import (
	"fmt"
	"net/http"
	"net/http/pprof"
	"strconv"
	"sync"
	"time"

	"cairn/schemas"
)

// maxProfile bounds the duration of a profile or trace.
const maxProfile = 30 * time.Second

// profiles serves net/http/pprof, one request at a time: a profile slows the whole
// process, and two CPU profiles cannot be taken at once.
func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	var busy sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := checkDuration(r.URL.Query().Get("seconds")); err != nil {
			writeError(w, r, err)
			return
		}
		if !busy.TryLock() {
			w.Header().Set("Retry-After", strconv.Itoa(int(maxProfile.Seconds())))
			writeError(w, r, schemas.ErrTooManyRequests.Because("another profile of this process is in progress"))
			return
		}
		defer busy.Unlock()
		r.Body = http.NoBody // pprof reads seconds from a multipart body too, with any method
		mux.ServeHTTP(w, r)
	})
}

// checkDuration returns ErrMalformed for a duration over maxProfile. pprof ignores
// a value that is not a number.
func checkDuration(seconds string) *schemas.Error {
	if n, err := strconv.ParseFloat(seconds, 64); err != nil || n <= maxProfile.Seconds() {
		return nil
	}
	return schemas.ErrMalformed.With(schemas.FieldError{
		Field:   "seconds",
		Message: fmt.Sprintf("expected at most %v, got %q", maxProfile.Seconds(), seconds),
	})
}
